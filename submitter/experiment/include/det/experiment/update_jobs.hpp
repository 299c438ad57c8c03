#pragma once
#include <det/slurm/client.hpp>
#include <det/tracker/history/view.hpp>

#include <vector>

namespace det::experiment {

/// A change of a job that Slurm is told, so that trials end, pause or continue.
struct JobUpdate {
    enum class Kind {
        cancel_job,       // a job, a task, or a whole array, at once
        cancel_waiting,   // the tasks of an array that have not begun
        hold,             // the tasks of an array that have not begun
        release,          // the held tasks of an array
        wake_supervisor,  // a signal: the supervisor reads the `desired` files and acts
    };
    Kind kind;
    slurm::JobRef job;
    friend bool operator==(JobUpdate const&, JobUpdate const&) = default;
};

/// The fewest calls that end an experiment: one call for an array whose tasks all end. A task that waits has
/// nothing to save and is always cancelled. Pure.
std::vector<JobUpdate> plan_end(tracker::history::ExperimentView const& experiment, Desired desired);

/// Ends one trial at once. A trial that shares its job with others is ended by its supervisor. Pure.
std::vector<JobUpdate> plan_kill(tracker::history::ExperimentRecord const& record,
                                 tracker::history::TrialView const& trial);

/// Running trials save their work, then wait in the queue, held like those that have not begun. Pure.
std::vector<JobUpdate> plan_pause(tracker::history::ExperimentView const& experiment);

/// Releases these arrays. Pure.
std::vector<JobUpdate> plan_release(std::vector<ArrayJob> const& arrays);

/// Makes the changes. A job that has ended or begun in the meantime is no failure.
Status update_jobs(std::vector<JobUpdate> const& updates, slurm::SlurmClient& slurm);

/// True if Slurm refused a change because the job is over.
bool has_ended(Error const& error);

}  // namespace det::experiment
