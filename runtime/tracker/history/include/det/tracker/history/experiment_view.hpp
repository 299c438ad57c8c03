#pragma once
#include <det/slurm/job.hpp>
#include <det/tracker/history/history.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace det::tracker::history {

/// The jobs in Slurm's queue at one time. If Slurm did not answer, `answered` is false and there are no jobs.
/// The jobs are sorted, so that finding those of each of many experiments takes no time worth mentioning.
class QueueSnapshot {
public:
    QueueSnapshot() = default;
    QueueSnapshot(bool slurm_answered, std::vector<slurm::JobStatus> jobs);

    bool answered() const { return answered_; }
    /// The job and all tasks with this number, the job itself first, then the tasks by their indices.
    std::span<slurm::JobStatus const> with_number(std::uint32_t job) const;

private:
    bool answered_ = true;
    std::vector<slurm::JobStatus> jobs_;  // sorted by their references
};

struct TrialView {
    TrialRecord record;
    lifecycle::State state;
    std::optional<slurm::JobStatus> job;

    /// When its first run began; nullopt if none has.
    std::optional<UtcTime> started() const;
    /// When its last run ended; nullopt while the trial is not over.
    std::optional<UtcTime> ended() const;
};

/// An experiment as users see it: its records combined with Slurm's queue.
struct ExperimentView {
    ExperimentRecord record;
    lifecycle::State state;
    std::vector<TrialView> trials;
    std::set<std::uint32_t> foreign_jobs = {};  // Slurm ids of its arrays that now belong to other jobs

    /// The arrays of the record except for those whose numbers other jobs have now.
    std::vector<ArrayJob> own_arrays() const;
    /// When its first run began; nullopt if none has.
    std::optional<UtcTime> started() const;
    /// When its last run ended; nullopt while the experiment is not over.
    std::optional<UtcTime> ended() const;
};

/// Combines the records of an experiment with the queue. Pure.
ExperimentView view_experiment(ExperimentRecord record, QueueSnapshot const& queue);

/// The times of an interruption of a run, in order, until the next run trained; nullopt if unknown.
struct Interruption {
    std::uint32_t run = 0;
    std::optional<UtcTime> noticed;       // the chief learned of the notice
    std::optional<UtcTime> acknowledged;  // the program acknowledged the preemption
    std::optional<UtcTime> saved;         // the last checkpoint, unless it is from before the acknowledgement
    std::optional<UtcTime> ended;         // the run ended
    std::optional<UtcTime> queued;        // the job was queued again
    std::optional<UtcTime> started;       // the next run started
    std::optional<UtcTime> trained;       // the next run did its first step
};

/// Whether the run ended because of a preemption, a pause or its time limit.
bool is_interrupted(lifecycle::RunView const& run);

/// The interruptions of a trial's runs, in order. Pure.
/// \param reports one entry per run
std::vector<Interruption> interruptions_of(std::vector<lifecycle::RunView> const& runs,
                                           std::vector<RunReports> const& reports);

}  // namespace det::tracker::history
