#pragma once
#include <det/experiment/context.hpp>
#include <det/queue/find_job.hpp>
#include <det/slurm/client.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <vector>

namespace det::experiment {

/// A change of a job in Slurm that makes trials end, pause or continue.
struct JobUpdate {
    enum class Kind {
        cancel_job,       // a job, a task, or a whole array, at once
        cancel_waiting,   // the tasks of an array that have not begun
        hold,             // the tasks of an array that have not begun
        release,          // the held tasks of an array
        wake_supervisor,  // a signal; the supervisor then reads the `desired` files
    };
    Kind kind;
    slurm::JobRef job;
    friend bool operator==(JobUpdate const&, JobUpdate const&) = default;
};

/// Returns the calls that end an experiment: one call for each array of which all remaining tasks (at least
/// two) are cancelled, else one for each task. If trials share jobs: one for each array, and one for each
/// running task that may save its work. Waiting tasks have nothing to save and are always cancelled. Pure.
std::vector<JobUpdate> plan_end(tracker::history::ExperimentView const& experiment, DesiredState desired);

/// Returns the calls that end one trial at once. If the trial shares its job with others, the job's
/// supervisor ends it. Pure.
std::vector<JobUpdate> plan_kill(tracker::history::ExperimentRecord const& record,
                                 tracker::history::TrialView const& trial);

/// Returns the calls that pause an experiment: they hold the arrays that have waiting tasks (all arrays if
/// trials share jobs) and signal the supervisors of running tasks to save their work. Pure.
std::vector<JobUpdate> plan_pause(tracker::history::ExperimentView const& experiment);

/// Returns the updates that end the hold on these job arrays, as `scontrol release` does. Pure.
std::vector<JobUpdate> plan_release(std::vector<ArrayJob> const& arrays);

/// Makes the changes in Slurm. Ignores Slurm's error for a job that has ended in the meantime.
Status update_jobs(std::vector<JobUpdate> const& updates, slurm::SlurmClient& slurm);

/// Returns true if Slurm refused a change because the job has ended.
bool is_job_ended(Error const& error);

/// Writes the new partition of a moved job into the spec of its experiment, because supervisors submit tasks
/// again with the spec's options. Does nothing while other jobs of the experiment are in another partition.
/// If the spec can't be written, only warns, since the job was moved. `jobs` is the queue after the move.
void update_spec_partition(std::uint32_t job, std::vector<slurm::JobStatus> const& jobs,
                           queue::ExperimentJobOwner const& owner, Context& context);

/// Appends an event to the experiment of a job that was moved in the queue, if it is an experiment of this
/// user. If the event can't be written, only warns, since the job was moved.
/// \param move in words
void record_move(std::uint32_t job, std::string const& move, std::vector<slurm::JobStatus> const& jobs,
                 queue::ExperimentJobOwner const& owner, Context& context);

}  // namespace det::experiment
