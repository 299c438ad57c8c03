#pragma once
#include <det/history/view.hpp>
#include <det/slurm/client.hpp>

#include <vector>

namespace det::cli {

/// What Slurm is told so that trials end.
struct EndStep {
    enum class Kind {
        cancel_job,   // at once
        ask_to_stop,  // the ranks hear what a preemption tells them, and save their work
    };
    Kind kind;
    slurm::JobRef job;
    friend bool operator==(EndStep const&, EndStep const&) = default;
};

/// The fewest calls that end these trials: a whole array in one where all of it goes. What waits has nothing
/// to save and is cancelled, whatever is desired. Pure.
std::vector<EndStep> plan_end(history::ExperimentRecord const& record,
                              std::vector<history::TrialView> const& trials, Desired desired);

/// A job that has ended in the meantime is no failure.
Status end_trials(std::vector<EndStep> const& steps, slurm::SlurmClient& slurm);

}  // namespace det::cli
