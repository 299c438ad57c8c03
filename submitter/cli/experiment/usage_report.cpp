#include "experiment/usage_report.hpp"

#include <det/journal/reader.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/run_shape.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/telemetry/waits/run_waits.hpp>
#include <det/tracker/usage/allocations.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "trial/node_profile.hpp"

namespace det::cli {
namespace {

using namespace tracker::history;

/// A mean of values with weights.
struct WeightedMean {
    double sum = 0;
    double weight = 0;

    void add(double value, double by) {
        sum += value * by;
        weight += by;
    }
};
using Means = std::map<std::string, WeightedMean>;

void add_checkpoints(UsageReport& report, RunReports const& run) {
    for (auto const& checkpoint : run.checkpoints) {
        ++report.checkpoints;
        report.checkpoint_size_bytes += retention::size_bytes_of(checkpoint);
        report.blocked_us += std::llround(std::clamp(checkpoint.blocked_s.value_or(0), 0.0, 1e9) * 1e6);
    }
}

Status add_utilisation(Means& means, RunLayout const& layout, lifecycle::RunView const& run) {
    if (!run.started || !run.ended) return Ok{};
    auto const duration_us =
        static_cast<double>(run.ended->time.microseconds - run.started->time.microseconds);
    DET_TRY_ASSIGN(auto const nodes, load_node_profiles(layout, {}));
    for (auto const& node : nodes) {
        for (auto const& metric : node.metrics) {
            if (metric.name == "gpu_util" || metric.name == "cpu_util_simple")
                means[metric.name].add(metric.mean, std::max(1.0, duration_us));
        }
    }
    return Ok{};
}

/// How long the ranks of a run waited for each other in all: slot-microseconds.
Result<std::int64_t> load_waited_us(RunLayout const& layout, int nodes) {
    constexpr std::chrono::years whole_run{100};
    DET_TRY_ASSIGN(auto const waits, telemetry::load_waits(layout, nodes, {std::nullopt, whole_run}));
    double waited_s = 0;
    for (auto const& [rank, waited] : waits) waited_s += waited.waited_s();
    return std::llround(std::clamp(waited_s, 0.0, 1e12) * 1e6);
}

std::vector<slurm::JobStatus> jobs_of(ExperimentView const& view) {
    std::vector<slurm::JobStatus> jobs;
    for (auto const& trial : view.trials) {
        if (trial.job) jobs.push_back(*trial.job);
    }
    return jobs;
}

}  // namespace

Result<UsageReport> load_usage_report(ExperimentView const& view, History& history,
                                      ExperimentLayout const& layout,
                                      std::vector<slurm::JobExecution> const& executions, UtcTime now) {
    UsageReport report;
    auto const& spec = *view.record.spec;
    tracker::usage::AllocationFinder finder(spec);
    Means means;
    for (auto const& trial : view.record.trials) {
        DET_TRY_ASSIGN(auto const runs, history.load_reports(trial.id));
        for (auto const& run : runs) add_checkpoints(report, run);
        std::vector<std::int64_t> waited_us;
        std::vector<std::vector<RankFailure>> failures;
        for (std::uint32_t i = 0; i < trial.runs.size(); ++i) {
            auto const run = layout.trial(trial.id.index).run(i);
            DET_TRY(add_utilisation(means, run, trial.runs[i]));
            auto const& started = trial.runs[i].started;
            auto const nodes = started ? shape_of_run(spec, *started).nodes : spec.shape.nodes;
            DET_TRY_ASSIGN(waited_us.emplace_back(), load_waited_us(run, nodes));
        }
        for (std::uint32_t i = 0; i + 1 < trial.runs.size(); ++i) {
            DET_TRY_ASSIGN(failures.emplace_back(),
                           journal::load_rank_failures(layout.trial(trial.id.index).run(i)));
        }
        auto recoveries = tracker::usage::find_recoveries(trial, runs, failures);
        std::ranges::move(recoveries, std::back_inserter(report.recoveries));
        finder.add(trial, runs, waited_us);
    }
    for (auto& allocation : finder.find(jobs_of(view), executions, now)) {
        auto usage = tracker::usage::divide(allocation);
        report.total += usage;
        report.allocated_slot_us += allocation.slot_us();
        if (allocation.submitted && *allocation.submitted <= allocation.started)
            report.queued_us = report.queued_us.value_or(0) + allocation.started.microseconds -
                               allocation.submitted->microseconds;
        report.allocations.push_back({std::move(allocation), std::move(usage)});
    }
    for (auto const& [name, mean] : means) report.utilisation[name] = mean.sum / mean.weight;
    return report;
}

}  // namespace det::cli
