// What followed on the faults of a trial.
#include <det/tracker/usage/recoveries.hpp>

#include <boost/test/unit_test.hpp>

#include "run_phases.hpp"

using namespace det;
using namespace det::tracker;
using namespace det::tracker::usage;

namespace recoveries_test {

constexpr UtcTime at(std::int64_t seconds) { return {seconds * 1'000'000}; }

/// A trial whose run N starts at 100 N.
struct Fixture {
    history::TrialRecord trial{{ExperimentId{7}, 3}, DesiredState::run, {}, {}};
    std::vector<history::RunReports> reports;
    std::vector<std::vector<RankFailure>> failures;

    void add_run(std::uint64_t checkpoint_steps = 0, std::uint32_t restart_count = 0) {
        RunStarted started;
        started.time = at(100 * static_cast<std::int64_t>(trial.runs.size()));
        started.job = "70_0";
        started.restart_count = restart_count;
        started.latest_checkpoint = checkpoint_steps > 0 ? "uuid" : "";
        started.steps_completed = checkpoint_steps;
        trial.runs.push_back({started, {}});
        reports.emplace_back().add(started);
        failures.emplace_back();
    }
    void report(std::uint64_t step, std::int64_t time) {
        reports.back().add(MetricsReported{at(time), "training", step, {}});
    }
    void fail(std::string const& host, std::int64_t time, std::string const& lost_peer = "") {
        RankFailure failure;
        failure.time = at(time);
        failure.host = host;
        failure.lost_peer = lost_peer;
        failures.back().push_back(failure);
    }
    void end(std::int64_t time, Cause cause, std::string const& bad_hosts = "") {
        trial.runs.back().ended = RunEnded{at(time), cause, NextAction::restart_in_place, 1, "", bad_hosts};
    }
    std::vector<Recovery> recoveries() const { return find_recoveries(trial, reports, failures); }
};

}  // namespace recoveries_test

BOOST_FIXTURE_TEST_SUITE(recoveries_test, Fixture)

BOOST_AUTO_TEST_CASE(a_fault_begins_at_the_first_failure_and_ends_at_the_first_step_of_the_next_run) {
    add_run();
    report(37, 50);
    fail("n2", 62, "rank 3 was lost");
    fail("n1", 60);
    end(70, Cause::failed);
    add_run(5);
    reports.back().add(ContinuedFromMemory{at(103), 30, 0});
    reports.back().add(FirstStep{at(104)});
    auto const found = recoveries();
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(to_string(found[0].run) == "7.3.1");
    BOOST_TEST(found[0].cause == "failed");
    BOOST_TEST(found[0].nodes == "n1");
    BOOST_TEST((found[0].fault == at(60)));
    BOOST_TEST(to_string(found[0].fault_source) == "rank");
    BOOST_TEST((found[0].duration_us() == 44'000'000));
    BOOST_TEST(to_string(found[0].from) == "memory");
    BOOST_TEST(found[0].steps_completed == 30u);
    BOOST_TEST(found[0].repeated_steps == 7u);
    BOOST_TEST(found[0].is_same_allocation);
}

BOOST_AUTO_TEST_CASE(a_lost_node_counts_from_the_last_report_before) {
    add_run();
    report(37, 50);
    fail("n2", 62, "rank 3 was lost");
    end(70, Cause::node_failed, "n[1,3]");
    add_run(5, 1);
    auto const found = recoveries();
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST((found[0].fault == at(50)));
    BOOST_TEST(to_string(found[0].fault_source) == "report");
    BOOST_TEST(found[0].nodes == "n[1,3]");
    BOOST_TEST(!found[0].first_step.has_value());
    BOOST_TEST(!found[0].duration_us().has_value());
    BOOST_TEST(to_string(found[0].from) == "checkpoint");
    BOOST_TEST(found[0].repeated_steps == 32u);
    BOOST_TEST(!found[0].is_same_allocation);
}

BOOST_AUTO_TEST_CASE(a_run_that_reported_nothing_has_a_fault_at_its_end) {
    add_run();
    end(30, Cause::not_launched);
    add_run();
    auto const found = recoveries();
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST((found[0].fault == at(30)));
    BOOST_TEST(to_string(found[0].fault_source) == "end");
    BOOST_TEST(to_string(found[0].from) == "beginning");
}

BOOST_AUTO_TEST_CASE(interruptions_and_the_last_run_are_no_recoveries) {
    for (auto const cause : {Cause::preempted, Cause::paused, Cause::time_limit, Cause::finished}) {
        add_run();
        end(100 * static_cast<std::int64_t>(trial.runs.size()) - 1, cause);
    }
    add_run();
    end(450, Cause::failed);
    BOOST_TEST(recoveries().empty());
}

BOOST_AUTO_TEST_CASE(training_is_kept_up_to_the_state_in_memory_from_which_the_next_run_went_on) {
    add_run();
    reports.back().add(FirstStep{at(10)});
    reports.back().add(CheckpointCommitted{at(20), "uuid", 5, {}, {}, 0});
    for (std::uint64_t step = 1; step <= 37; ++step) report(step, 20 + static_cast<std::int64_t>(step));
    end(70, Cause::failed);
    add_run(5);
    reports.back().add(ContinuedFromMemory{at(103), 30, 0});
    report(31, 110);
    history::set_cut_offs(reports);
    auto const phases = run_phases(trial, reports);
    BOOST_TEST((phases.at(0).kept_until == at(50)));
}

BOOST_AUTO_TEST_SUITE_END()
