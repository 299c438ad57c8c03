#pragma once
#include <det/slurm/job.hpp>
#include <det/tracker/history/history.hpp>

#include <optional>
#include <vector>

namespace det::tracker::history {

/// What Slurm said when it was asked.
struct QueueSight {
    bool answered = true;
    std::vector<slurm::JobStatus> jobs;
};

struct TrialView {
    TrialRecord record;
    lifecycle::State state;
    std::optional<slurm::JobStatus> job;

    /// When its first run began and, once it is over, when its last run ended.
    std::optional<UtcTime> started() const;
    std::optional<UtcTime> ended() const;
};

/// An experiment as people see it: what was recorded and what Slurm says, put together.
struct ExperimentView {
    ExperimentRecord record;
    lifecycle::State state;
    std::vector<TrialView> trials;

    /// When its first run began and, once it is over, when its last run ended.
    std::optional<UtcTime> started() const;
    std::optional<UtcTime> ended() const;
};

/// Pure.
ExperimentView view_experiment(ExperimentRecord record, QueueSight const& queue);

}  // namespace det::tracker::history
