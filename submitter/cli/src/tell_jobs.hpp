#pragma once
#include <det/slurm/client.hpp>
#include <det/tracker/history/view.hpp>

#include <vector>

namespace det::cli {

/// What Slurm is told so that trials end or pause.
struct JobStep {
    enum class Kind {
        cancel_job,      // at once
        cancel_waiting,  // of an array, what has not begun
        hold,            // of an array, what has not begun
        release,         // what is held of an array
        poke,            // its supervisor looks at what is desired, and does it
    };
    Kind kind;
    slurm::JobRef job;
    friend bool operator==(JobStep const&, JobStep const&) = default;
};

/// The fewest calls that end an experiment: a whole array in one where all of it goes. What waits has nothing
/// to save and is cancelled, whatever is desired. Pure.
std::vector<JobStep> plan_end(tracker::history::ExperimentView const& experiment, Desired desired);

/// The same for one trial at once. One that shares a job with others is its supervisor's to end. Pure.
std::vector<JobStep> plan_kill(tracker::history::ExperimentRecord const& record,
                               tracker::history::TrialView const& trial);

/// What runs saves its work and waits in the queue, held with what has not begun. Pure.
std::vector<JobStep> plan_pause(tracker::history::ExperimentView const& experiment);

/// What is held goes on. Pure.
std::vector<JobStep> plan_release(std::vector<ArrayJob> const& arrays);

/// A job that has ended, or begun, in the meantime is no failure.
Status tell_jobs(std::vector<JobStep> const& steps, slurm::SlurmClient& slurm);

/// Whether Slurm refused something because the job is over.
bool has_ended(Error const& error);

}  // namespace det::cli
