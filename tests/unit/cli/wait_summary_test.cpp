// What `trial describe` says about ranks that wait for each other.
#include <det/journal/metric_journal.hpp>
#include <det/telemetry/waits/wait_reports.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"

using namespace det;
using namespace det::cli;

namespace wait_summary_test {

constexpr std::int64_t second = 1'000'000;

UtcTime before(UtcTime time, int seconds) { return {time.microseconds - seconds * second}; }

struct Fixture : CliFixture {
    Fixture() { write_examples(root); }

    std::filesystem::path waits_of(std::uint32_t experiment, std::uint32_t run, int node) const {
        return ExperimentLayout(root, {experiment}).trial(0).run(run).node_waits(node);
    }
    void write(std::filesystem::path const& path, UtcTime time, std::vector<Metric> const& metrics) const {
        auto journal = must(journal::MetricJournal::open(path));
        journal.add(time, telemetry::waits_group, metrics);
        must(journal.write());
    }
    /// Rank 0 of node n0 waits for rank 3 of node n1.
    void write_example(std::uint32_t experiment, std::uint32_t run, UtcTime time) const {
        write(waits_of(experiment, run, 0), time,
              {{"operations 0", 100}, {"waited.allreduce 0", 24.6}, {"waited_for.3 0", 24.6}});
        write(waits_of(experiment, run, 1), time, {{"operations 3", 100}});
    }
};

}  // namespace wait_summary_test

BOOST_FIXTURE_TEST_SUITE(wait_summary_test, Fixture)

BOOST_AUTO_TEST_CASE(a_trial_without_waits_shows_none) {
    BOOST_TEST(run("trial describe 1.0") == 0);
    BOOST_TEST(!contains(out, "Waiting"), out);
    BOOST_TEST(ask("trial describe 1.0")["waits"].is_null());
}

BOOST_AUTO_TEST_CASE(an_ended_run_shows_its_last_minute) {
    write_example(1, 1, before(minute(20), 59));
    BOOST_TEST(run("trial describe 1.0") == 0);
    BOOST_TEST(contains(out,
                        "\nWaiting: rank 0 waits for rank 3 on node n1 in allreduce: 41 % of the last "
                        "60 s of run 1\n"),
               out);
    auto const waits = ask("trial describe 1.0")["waits"];
    BOOST_TEST(waits["run"] == 1);
    BOOST_TEST(waits["period_s"] == 60);
    BOOST_TEST(waits["straggler"]["rank"] == 3);
    BOOST_TEST(waits["straggler"]["host"] == "n1");
    BOOST_TEST(waits["straggler"]["seconds"] == 24.6);
    BOOST_TEST(waits["straggler"]["waiting_ranks"] == Json{0});
    BOOST_REQUIRE(waits["ranks"].size() == 2u);
    BOOST_TEST(waits["ranks"][0] == (Json{{"rank", 0},
                                          {"host", "n0"},
                                          {"operations", 100.0},
                                          {"seconds", 24.6},
                                          {"seconds_in", {{"allreduce", 24.6}}},
                                          {"waited_for", {{{"rank", 3}, {"seconds", 24.6}}}}}));
}

BOOST_AUTO_TEST_CASE(waits_before_the_last_minute_name_none) {
    write_example(1, 1, before(minute(20), 60));
    BOOST_TEST(run("trial describe 1.0") == 0);
    BOOST_TEST(!contains(out, "Waiting"), out);
    auto const waits = ask("trial describe 1.0")["waits"];
    BOOST_TEST(waits["straggler"].is_null());
    BOOST_TEST(waits["ranks"].size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_running_trial_shows_the_time_until_now) {
    slurm.other_jobs = {job_of(2, slurm::JobState::running, "RUNNING")};
    write_example(2, 0, before(minute(31), 1));
    clock.sleep_for(std::chrono::minutes(30) + std::chrono::seconds(41));
    write_example(2, 0, clock.now());
    BOOST_TEST(run("trial describe 2.0") == 0);
    BOOST_TEST(contains(out,
                        "\nWaiting: rank 0 waits for rank 3 on node n1 in allreduce: 100 % of the last "
                        "41 s\n"),
               out);
    clock.sleep_for(std::chrono::minutes(5));
    BOOST_TEST(run("trial describe 2.0") == 0);
    BOOST_TEST(!contains(out, "Waiting"), out);
}

BOOST_AUTO_TEST_CASE(a_damaged_journal_of_waits_is_a_warning) {
    must(write_file(waits_of(1, 1, 0), std::string(100, 'x')));
    BOOST_TEST(run("trial describe 1.0") == 0);
    BOOST_TEST(contains(err, "node-0.waits"), err);
    BOOST_TEST(contains(out, "Hyperparameters"), out);
}

BOOST_AUTO_TEST_SUITE_END()
