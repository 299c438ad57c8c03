// What a fault has cost: measure_cost() of made-up observations, and summarise_costs() of made-up rounds.
#include "fault_cost.hpp"

#include <det/foundation/files.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "results_file.hpp"
#include "temporary_directory.hpp"

namespace fault_cost_test {

using namespace det;
using namespace det::faults;

constexpr std::int64_t ms = 1'000;
constexpr std::int64_t step_us = 40 * ms;

/// Adds a run that reports the steps `first` to `last`.
void add_run(Observation& observation, std::uint64_t from, std::uint64_t first, std::uint64_t last,
             std::int64_t begun_us) {
    auto& reports = observation.final.reports.front().emplace_back();
    auto& runs = observation.final.record.trials.front().runs;
    reports.run = static_cast<std::uint32_t>(runs.size());
    for (auto step = first; step <= last; ++step)
        reports.metrics.push_back(
            {UtcTime{begun_us + static_cast<std::int64_t>(step - first) * step_us}, "training", step, {}});
    runs.emplace_back().started = RunStarted{UtcTime{begun_us}, "1_0", 0, "n0", "n[0-1]", 0, "", from};
}

/// A training whose first run has reported `last` steps when the fault comes.
Observation observe_fault_after(std::uint64_t last) {
    Observation observation;
    observation.final.record.trials.resize(1);
    observation.final.reports.resize(1);
    observation.target = FaultTarget{0, 0, "1_0", {"n0", "n1"}, "n0"};
    observation.injected = true;
    observation.injected_at = UtcTime{static_cast<std::int64_t>(last) * step_us};
    add_run(observation, 0, 1, last, step_us);
    return observation;
}

std::int64_t after(Observation const& observation, std::int64_t milliseconds) {
    return observation.final.reports.front().front().metrics.back().time.microseconds + milliseconds * ms;
}

RoundPlan const plan = plan_cost_round(cost_seed_begin);

BOOST_AUTO_TEST_CASE(standing_still_and_training_again_are_lost) {
    auto observation = observe_fault_after(150);
    add_run(observation, 100, 101, plan.kind->steps, after(observation, 10'000));
    auto const cost = measure_cost(plan, observation);
    BOOST_REQUIRE(cost.has_value());
    BOOST_TEST(cost->from == "checkpoint");
    BOOST_TEST(cost->again_steps == 50u);
    BOOST_TEST(cost->again_s == 2.0, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(cost->step_s == 0.04, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(cost->lost_s == 10 + 2 - 0.04, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(cost->slots == 2u);
}

BOOST_AUTO_TEST_CASE(a_state_in_memory_is_told_by_its_record) {
    auto observation = observe_fault_after(107);
    add_run(observation, 100, 101, plan.kind->steps, after(observation, 10'000));
    BOOST_TEST(measure_cost(plan, observation)->from == "checkpoint");
    observation.continued_from_memory.emplace(0, 1);  // of the same step as the checkpoint
    BOOST_TEST(measure_cost(plan, observation)->from == "memory");
    auto anew = observe_fault_after(107);
    add_run(anew, 0, 1, plan.kind->steps, after(anew, 10'000));
    BOOST_TEST(measure_cost(plan, anew)->from == "beginning");
}

BOOST_AUTO_TEST_CASE(a_training_that_stops_for_ever_has_no_cost) {
    auto const without_later_run = observe_fault_after(150);
    BOOST_TEST(!measure_cost(plan, without_later_run).has_value());
    auto observation = observe_fault_after(150);
    add_run(observation, 100, 101, plan.kind->steps - 1, after(observation, 10'000));
    BOOST_TEST(!measure_cost(plan, observation).has_value());
}

BOOST_AUTO_TEST_CASE(a_fault_that_the_run_survives_costs_the_time_without_steps) {
    auto observation = observe_fault_after(150);
    auto& metrics = observation.final.reports.front().front().metrics;
    for (auto step = metrics.size() + 1; step <= plan.kind->steps; ++step)
        metrics.push_back({UtcTime{metrics.back().time.microseconds + (step == 151 ? 3'040 * ms : step_us)},
                           "training",
                           step,
                           {}});
    auto const cost = measure_cost(plan, observation);
    BOOST_REQUIRE(cost.has_value());
    BOOST_TEST(cost->from == "");
    BOOST_TEST(cost->lost_s == 3.0, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(rounds_without_a_cost_are_counted) {
    TemporaryDirectory const directory;
    ResultsFile results(directory / "results");
    Json line{{"seed", cost_seed_begin},
              {"fault", "kill a rank"},
              {"kind", "ddp-plain"},
              {"verdicts", {{"state", ""}}},
              {"cost", {{"lost_s", 18}, {"again_s", 3}, {"from", "checkpoint"}, {"slots", 2}}}};
    must(results.append(line));
    line.erase("cost");
    line["verdicts"]["state"] = "the experiment is RUNNING";
    must(results.append(line));
    line["fault"] = "cut the supervisor's node";
    must(results.append(line));
    line["seed"] = 1;
    line["fault"] = "of the usual campaign";
    must(results.append(line));

    auto const costs = summarise_costs(results.path());
    auto const has = [](std::string const& text, std::string_view part) {
        return text.find(part) != text.npos;
    };
    BOOST_TEST(has(costs, "| kill a rank | ddp-plain | 1 | 1 | 1 | 36.0 | 6.0 | 0 | 0 | 1 | 0 |\n"), costs);
    BOOST_TEST(has(costs, "| cut the supervisor's node | ddp-plain | 0 | 1 | 1 | - | - | 0 | 0 | 0 | 0 |\n"),
               costs);
    BOOST_TEST(has(costs, "| as measured | 99.0 % (1 of "), costs);
    BOOST_TEST(has(costs, ", 18.0 s a fault; without 2 rounds that have no cost)"), costs);
    BOOST_TEST(has(costs, ", 45.0 s a fault; without 2 rounds"), costs);  // a checkpoint each 60 s
    BOOST_TEST(!has(costs, "usual"));
    auto const usual = summarise(results.path());
    BOOST_TEST(has(usual, "| of the usual campaign | 1 |"), usual);
    BOOST_TEST(!has(usual, "kill a rank"), usual);
}

BOOST_AUTO_TEST_CASE(the_rounds_are_of_failures_during_the_training) {
    for (std::uint32_t i = 0; i < count_cost_pairs(); ++i) {
        auto const round = plan_cost_round(cost_seed_begin + i);
        BOOST_TEST(round.step >= 60u);
        for (auto const* request : {"preempt", "requeue", "kill slurmctld after a start"})
            BOOST_TEST(round.fault->name != request);
    }
}

}  // namespace fault_cost_test
