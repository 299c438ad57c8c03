// What `experiment report` shows.
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;

namespace experiment_report_test {

struct Fixture : CliFixture {
    Fixture() {
        write_examples(root);
        slurm.is_down = true;
    }

    /// The sum of the uses in an answer.
    static double sum(Json const& uses) {
        double total = 0;
        for (auto const& [use, slot_s] : uses.items()) total += slot_s.get<double>();
        return total;
    }
};

}  // namespace experiment_report_test

BOOST_FIXTURE_TEST_SUITE(experiment_report_test, Fixture)

BOOST_AUTO_TEST_CASE(the_uses_sum_to_what_was_allocated) {
    BOOST_TEST(run("experiment report 1") == 0);
    check_golden("cli/experiment_report.txt", out);
    auto const report = ask("experiment report 1");
    // Run 0 from minute 1 to 5, run 1 from 10 to 20, on 8 slots.
    BOOST_TEST(report["allocated_slot_s"] == 8 * 14 * 60);
    BOOST_TEST(sum(report["uses"]) == 8 * 14 * 60);
    BOOST_REQUIRE(report["allocations"].size() == 2u);
    BOOST_TEST(sum(report["allocations"][0]["uses"]) == 8 * 4 * 60);
    BOOST_TEST(report["allocations"][0]["end_known_from"] == "journal");
    // Run 0 trained from its first report at 2; its checkpoint at 4 was used; it ended at 5.
    BOOST_TEST(report["allocations"][0]["uses"]["training"] == 8 * 2 * 60);
    BOOST_TEST(report["uses"]["lost_to_preemption"] == 8 * 60);
    BOOST_TEST(report["queued_s"].is_null());
    BOOST_TEST(report["checkpoints"]["count"] == 2);
    BOOST_TEST(report["checkpoints"]["size_bytes"] == 3'001'536);
    BOOST_TEST(report["utilisation"]["gpu_util"].is_null());
}

BOOST_AUTO_TEST_CASE(slurms_times_count_where_they_are_known) {
    auto const layout = create_example(root, 7);
    auto life = start_run(layout, 0, 1);
    must(life.append(JobAllocated{minute(1), UtcTime{minute(1).microseconds - 4'000'000}, minute(0), {}, 3}));
    must(life.append(finish(5)));
    slurm.is_down = false;
    auto job = job_of(7, slurm::JobState::completed, "COMPLETED");
    job.end_time = UtcTime{minute(5).microseconds + 1'000'000};
    slurm.other_jobs = {job};
    auto const report = ask("experiment report 7");
    auto const& allocation = report["allocations"].at(0);
    BOOST_TEST(allocation["end_known_from"] == "slurm");
    BOOST_TEST(allocation["slots"] == 12);
    BOOST_TEST(allocation["slot_s"] == 12 * 245);
    BOOST_TEST(report["queued_s"] == 56);
    BOOST_TEST(report["uses"]["idle"] == 4 * 240);  // a spare node
    BOOST_TEST(report["uses"]["ending"] == 12);
    BOOST_TEST(report["uses"]["starting"] == 12 * 4);
    BOOST_TEST(report["uses"]["training"] == 8 * 240);  // the program reported nothing
}

BOOST_AUTO_TEST_CASE(the_times_of_slurms_accounting_count_where_a_site_has_it) {
    auto const layout = create_example(root, 7);
    auto life = start_run(layout, 0, 1);
    must(life.append(finish(5)));
    slurm.is_down = false;
    slurm.executions = {{{4717, 0},
                         UtcTime{minute(1).microseconds - 3'000'000},
                         UtcTime{minute(5).microseconds + 2'000'000},
                         3}};
    auto const report = ask("experiment report 7");
    auto const& allocation = report["allocations"].at(0);
    BOOST_TEST(allocation["end_known_from"] == "accounting");
    BOOST_TEST(allocation["started"] == format_utc(*slurm.executions[0].started));
    BOOST_TEST(allocation["slot_s"] == 12 * 245);
    BOOST_TEST(report["uses"]["ending"] == 12 * 2);
}

BOOST_AUTO_TEST_CASE(the_means_of_profiled_nodes_are_shown) {
    auto journal =
        must(journal::JournalWriter::create(ExperimentLayout(root, {1}).trial(0).run(1).node_metrics(0)));
    MetricFrameWriter frames;
    std::vector<Metric> const metrics{{"gpu_util GPU-1", 20}};
    std::vector<Metric> const more{{"gpu_util GPU-1", 40}};
    frames.add(minute(12), "gpu", 0, metrics);
    frames.add(minute(13), "gpu", 0, more);
    for (auto const& frame : frames.take()) must(journal.append(frame));
    BOOST_TEST(ask("experiment report 1")["utilisation"]["gpu_util"] == 30);
}

BOOST_AUTO_TEST_CASE(the_waits_of_all_ranks_are_not_training) {
    auto const before = ask("experiment report 1")["uses"];
    for (int const node : {0, 1}) {
        auto journal = must(
            journal::JournalWriter::create(ExperimentLayout(root, {1}).trial(0).run(1).node_waits(node)));
        MetricFrameWriter frames;
        std::vector<Metric> const metrics{
            {"operations 0", 5}, {"waited.allreduce 0", 1.5}, {"waited.barrier 0", 1}};
        for (int const at : {12, 19}) frames.add(minute(at), "waits", 0, metrics);
        for (auto const& frame : frames.take()) must(journal.append(frame));
    }
    auto const after = ask("experiment report 1")["uses"];
    BOOST_TEST(after["waiting"] == 10);
    BOOST_TEST(after["training"] == before["training"].get<double>() - 10);
}

BOOST_AUTO_TEST_CASE(recoveries_are_shown_with_their_times) {
    auto const layout = create_example(root, 7);
    {
        auto life = start_run(layout, 0, 1);
        auto ended = run_end(5, Cause::node_failed, NextAction::restart_in_place, 137, "node n1 is lost");
        ended.bad_hosts = "n1";
        must(life.append(ended));
        auto journal = report(layout, 0);
        must(journal.append(FirstStep{minute(2)}));
        must(journal.append(MetricsReported{minute(4), "training", 20007, Json{{"loss", 1}}}));
    }
    auto life = start_run(layout, 1, 5);
    must(life.append(finish(9)));
    auto journal = report(layout, 1);
    must(journal.append(ContinuedFromMemory{minute(5), 20000, 0}));
    must(journal.append(FirstStep{UtcTime{minute(5).microseconds + 2'500'000}}));
    BOOST_TEST(run("experiment report 7") == 0);
    check_golden("cli/experiment_report_recoveries.txt", out);
    check_golden("cli/experiment_report_recoveries.json",
                 ask("experiment report 7").at("recoveries").dump(2) + "\n");
    BOOST_TEST(ask("experiment report 1")["recoveries"] == Json::array());
}

BOOST_AUTO_TEST_CASE(an_experiment_without_jobs_has_nothing_to_report) {
    create_example(root, 7);
    BOOST_TEST(run("experiment report 7") == 0);
    BOOST_TEST(out == "None of its jobs has started.\n");
    BOOST_TEST(ask("experiment report 7")["allocations"] == Json::array());
    BOOST_TEST(run("experiment report 10") == 1);
    BOOST_TEST(run("experiment report 99") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment report x") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_SUITE_END()
