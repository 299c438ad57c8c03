// Compares the accounting of `experiment report` with the times that slurmctld writes for each end of a job.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace experiment_report_test {

namespace fs = std::filesystem;

struct Site {
    LoopbackCluster cluster;

    Site() : cluster(options()) {
        cluster.shell("mkdir code");
        fs::copy_file(test::source_path("tests/cluster/programs/reporting.py"),
                      cluster.home() / "code/reporting.py");
        fs::permissions(cluster.home() / "code/reporting.py", fs::perms(0644));
    }
    static LoopbackOptions options() {
        LoopbackOptions options;
        options.slots = 2;
        return options;
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(cluster.shell("det-submit " + command + " --json"));
    }
    int create(std::string const& yaml) const {
        must(write_file(cluster.home() / "e.yaml", yaml, 0644));
        return ask("experiment create e.yaml code")["id"].get<int>();
    }
    void wait_for_end(int experiment) const {
        cluster.shell(fmt::format("det-submit experiment wait {}", experiment), 120s);
    }
    std::size_t runs(int experiment) const {
        return ask(fmt::format("experiment describe {}", experiment))["trials"][0]["runs"].size();
    }
    int steps(int experiment) const {
        auto const reports = ask(fmt::format("trial metrics {}.0 --group training", experiment));
        return reports.empty() ? 0 : reports.back()["steps_completed"].get<int>();
    }
    /// The seconds that slurmctld has recorded for each end of the experiment's job, in order.
    std::vector<double> recorded_s(int experiment) const {
        std::vector<double> found;
        auto const text = must(read_file(cluster.state() / "log/jobcomp"));
        for (auto const line : split_lines(text)) {
            if (line.find(fmt::format(" Name=exp-{} ", experiment)) == std::string_view::npos &&
                line.find(fmt::format(" Name=exp-{}-", experiment)) == std::string_view::npos)
                continue;
            found.push_back(static_cast<double>(time_in(line, "EndTime=") - time_in(line, "StartTime=")));
        }
        return found;
    }
    /// "StartTime=2026-11-24T12:50:16" in seconds, in the local time of the machine.
    static std::time_t time_in(std::string_view line, std::string_view key) {
        auto const at = line.find(key);
        BOOST_REQUIRE(at != std::string_view::npos);
        std::tm time{};
        BOOST_REQUIRE(::strptime(std::string(line.substr(at + key.size(), 19)).c_str(), "%Y-%m-%dT%H:%M:%S",
                                 &time) != nullptr);
        return ::timegm(&time);
    }
    /// Compares a report with what slurmctld has recorded. They may differ by one second per job and slot.
    nlohmann::json check_books(int experiment) const {
        auto const report = ask(fmt::format("experiment report {}", experiment));
        auto const recorded = recorded_s(experiment);
        BOOST_TEST_MESSAGE(report.dump(1));
        BOOST_REQUIRE(report["allocations"].size() == recorded.size());
        double total = 0;
        for (std::size_t i = 0; i < recorded.size(); ++i) {
            auto const& allocation = report["allocations"][i];
            auto const slots = allocation["slots"].get<double>();
            auto const slot_s = allocation["slot_s"].get<double>();
            BOOST_TEST(std::abs(slot_s - recorded[i] * slots) <= slots,
                       "job " << i << ": " << slot_s << " s, recorded " << recorded[i] << " s");
            BOOST_TEST(sum(allocation["uses"]) == slot_s, boost::test_tools::tolerance(1e-9));
            total += slot_s;
        }
        BOOST_TEST(sum(report["uses"]) == total, boost::test_tools::tolerance(1e-9));
        return report;
    }
    static double sum(nlohmann::json const& uses) {
        double total = 0;
        for (auto const& [use, slot_s] : uses.items()) total += slot_s.get<double>();
        return total;
    }
    static double cost(nlohmann::json const& report, std::string const& use, std::string const& cause) {
        for (auto const& row : report["causes"]) {
            if (row["use"] == use && row["cause"] == cause) return row["slot_s"].get<double>();
        }
        return 0;
    }
};

}  // namespace experiment_report_test

BOOST_FIXTURE_TEST_SUITE(experiment_report_test, Site)

BOOST_AUTO_TEST_CASE(a_trial_that_failed_and_was_preempted) {
    auto const id = create(
        "name: books\n"
        "entrypoint: python3 reporting.py\n"
        "hyperparameters: {steps: 80}\n"
        "searcher: {name: single, metric: loss, max_length: {batches: 80}}\n"
        "resources: {slots_per_trial: 1}\n");
    // Run 0 dies at step 30, run 1 is preempted after its first report.
    cluster.wait_until([&] { return runs(id) == 2 && steps(id) >= 45; }, 60s, "the second run trains");
    cluster.shell("srun --partition urgent --nodes 2 true");
    wait_for_end(id);
    auto const report = check_books(id);
    BOOST_TEST(report["state"] == "COMPLETED");
    BOOST_REQUIRE(report["allocations"].size() == 2u);
    BOOST_TEST(report["allocations"][0]["end_known_from"] == "requeue");
    BOOST_TEST(report["allocations"][1]["end_known_from"] == "slurm");
    // Ten steps after the checkpoint at step 20 were lost by the failure.
    auto const redone = cost(report, "redone", "failed");
    BOOST_TEST(redone >= 1.0);
    BOOST_TEST(redone < 4.0);
    BOOST_TEST(cost(report, "lost_to_preemption", "preempted") < 3.0);
    for (auto const* cause : {"first", "failed", "preempted"})
        BOOST_TEST(cost(report, "starting", cause) > 0.0, cause);
    // Four checkpoints, one second each, and 80 steps of 0.1 s. Slurm's times end up to a second early.
    BOOST_TEST(report["checkpoints"]["count"].get<int>() >= 4);
    BOOST_TEST(report["uses"]["saving"].get<double>() >= 3.0);
    BOOST_TEST(report["uses"]["training"].get<double>() >= 7.0);
    BOOST_TEST(report["queued_s"].get<double>() >= 0.0);
}

BOOST_AUTO_TEST_CASE(trials_that_share_a_node) {
    auto const id = create(
        "name: packed\n"
        "entrypoint: python3 reporting.py\n"
        "hyperparameters: {steps: {type: categorical, vals: [5, 25]}}\n"
        "searcher: {name: grid, metric: loss, max_concurrent_trials: 2}\n"
        "resources: {slots_per_trial: 1}\n"
        "slurm: {trials_per_node: 2}\n");
    wait_for_end(id);
    auto const report = check_books(id);
    BOOST_REQUIRE(report["allocations"].size() == 1u);
    BOOST_TEST(report["allocations"][0]["slots"] == 2);
    BOOST_TEST(report["allocations"][0]["runs"].size() == 2u);
    // The longer trial trains 20 steps more and saves once.
    BOOST_TEST(report["uses"]["idle"].get<double>() >= 2.0);
    BOOST_TEST(report["uses"]["idle"].get<double>() < report["uses"]["training"].get<double>() + 2.0);
}

BOOST_AUTO_TEST_SUITE_END()
