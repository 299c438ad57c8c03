#pragma once
#include <det/foundation/result.hpp>
#include <det/slurm/accounting.hpp>
#include <det/tracker/history/experiment_view.hpp>
#include <det/tracker/usage/recoveries.hpp>
#include <det/tracker/usage/usage.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace det::cli {

/// An allocation with the division of its slot time.
struct AllocationUsage {
    tracker::usage::Allocation allocation;
    tracker::usage::Usage usage;
};

/// The slot time of an experiment's jobs, divided by use, and its checkpoints.
struct UsageReport {
    std::vector<AllocationUsage> allocations;  // in the order of their starts
    tracker::usage::Usage total;
    std::int64_t allocated_slot_us = 0;
    std::optional<std::int64_t> queued_us;             // sum over the allocations whose submission is known
    std::vector<tracker::usage::Recovery> recoveries;  // of all trials
    std::uint64_t checkpoints = 0;
    std::uint64_t checkpoint_size_bytes = 0;
    std::int64_t blocked_us = 0;  // time for which training waited for saves
    /// Means over the nodes of profiled runs, weighted by the duration of the runs: "gpu_util" and
    /// "cpu_util_simple" in percent. Without an entry: not profiled.
    std::map<std::string, double> utilisation;
};

/// Reads the journals of an experiment's trials, one trial after the other.
/// \param view of the experiment, with its specification
/// \param layout of the experiment
/// \param executions of its jobs that Slurm's accounting knows
/// \param now the end of allocations that have not ended
Result<UsageReport> load_usage_report(tracker::history::ExperimentView const& view,
                                      tracker::history::History& history, ExperimentLayout const& layout,
                                      std::vector<slurm::JobExecution> const& executions, UtcTime now);

}  // namespace det::cli
