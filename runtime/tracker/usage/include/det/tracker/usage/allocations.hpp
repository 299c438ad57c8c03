#pragma once
#include <det/slurm/accounting.hpp>
#include <det/tracker/history/history.hpp>
#include <det/tracker/usage/usage.hpp>

#include <optional>
#include <span>
#include <vector>

namespace det::tracker::usage {

/// Collects the allocations of an experiment's jobs from the records of its trials' runs. Runs of several
/// trials that shared a job are in one allocation.
class AllocationFinder {
public:
    /// \param spec of the experiment: the slots, and the number of nodes if no supervisor recorded Slurm's
    explicit AllocationFinder(ExperimentSpec const& spec);

    /// \param reports of the trial: one entry per run
    /// \param waited_slot_us of each run: how long its ranks waited for each other; missing ones are 0
    void add(history::TrialRecord const& trial, std::span<history::RunReports const> reports,
             std::span<std::int64_t const> waited_slot_us = {});

    /// The allocations in the order of their starts.
    /// \param jobs the jobs that Slurm shows now, with their state and end
    /// \param executions in Slurm's accounting, which count before the records of the supervisors
    /// \param now the end of allocations that have not ended
    std::vector<Allocation> find(std::vector<slurm::JobStatus> const& jobs,
                                 std::vector<slurm::JobExecution> const& executions, UtcTime now) const;

private:
    struct Seen {
        Allocation allocation;
        bool has_slurm_start = false;
        std::optional<UtcTime> slurm_end;  // as a supervisor recorded it
        std::optional<UtcTime> last_sign;  // the last recorded end or report of its runs
    };

    void add_run(lifecycle::RunView const& run, RunPhases phases, std::optional<UtcTime> last_report);

    ExperimentSpec spec_;
    std::uint32_t slots_per_node_;
    std::map<std::pair<std::string, std::uint32_t>, Seen> seen_;  // by job and restart count
};

}  // namespace det::tracker::usage
