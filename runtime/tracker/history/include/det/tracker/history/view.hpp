#pragma once
#include <det/slurm/job.hpp>
#include <det/tracker/history/history.hpp>

#include <optional>
#include <vector>

namespace det::tracker::history {

/// The jobs in Slurm's queue at one time; answered is false if Slurm did not answer.
struct QueueSnapshot {
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

/// An experiment as users see it: its records combined with Slurm's queue.
struct ExperimentView {
    ExperimentRecord record;
    lifecycle::State state;
    std::vector<TrialView> trials;

    /// When its first run began and, once it is over, when its last run ended.
    std::optional<UtcTime> started() const;
    std::optional<UtcTime> ended() const;
};

/// Combines the records of an experiment with the queue. Pure.
ExperimentView view_experiment(ExperimentRecord record, QueueSnapshot const& queue);

}  // namespace det::tracker::history
