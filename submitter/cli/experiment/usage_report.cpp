#include "experiment/usage_report.hpp"

#include <det/protocol/directory_layout.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/telemetry/waits/run_waits.hpp>
#include <det/tracker/usage/allocations.hpp>

#include <algorithm>
#include <cmath>

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
                                      ExperimentLayout const& layout, UtcTime now) {
    UsageReport report;
    tracker::usage::AllocationFinder finder(*view.record.spec);
    Means means;
    for (auto const& trial : view.record.trials) {
        DET_TRY_ASSIGN(auto const runs, history.load_reports(trial.id));
        for (auto const& run : runs) add_checkpoints(report, run);
        std::vector<std::int64_t> waited_us;
        for (std::uint32_t i = 0; i < trial.runs.size(); ++i) {
            auto const run = layout.trial(trial.id.index).run(i);
            DET_TRY(add_utilisation(means, run, trial.runs[i]));
            DET_TRY_ASSIGN(waited_us.emplace_back(), load_waited_us(run, view.record.spec->shape.nodes));
        }
        finder.add(trial, runs, waited_us);
    }
    for (auto& allocation : finder.find(jobs_of(view), now)) {
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
