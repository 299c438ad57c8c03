#pragma once
#include <det/experiment/context.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <string_view>
#include <vector>

namespace det::experiment {

// The events of slurm.event_hook that no supervisor sees. These functions run the hook on this host, wait for
// it, at most 10 s, and warn if it fails.

/// Runs the event hook because jobs of the experiment were submitted.
void run_hook_for_submission(ExperimentSpec const& spec, std::vector<ArrayJob> const& arrays,
                             Context& context);

/// The change that a command of the user made to trials that no supervisor runs.
struct UnsupervisedTrialsEvent {
    std::string_view event;  // see det/events/event_hook.hpp
    std::vector<TrialId> trials;
    std::string_view message;
};
/// Runs the event hook for the trials of `what`. Does nothing if there are none.
void run_hook_for_trials(tracker::history::ExperimentView const& experiment,
                         UnsupervisedTrialsEvent const& what, Context& context);

/// The trials of the experiment that have not ended and that no supervisor runs: those that wait in the
/// queue, are paused or were interrupted. Pure.
std::vector<TrialId> unsupervised_trials(tracker::history::ExperimentView const& experiment);
/// The trials of the experiment that wait in the queue. Pure.
std::vector<TrialId> queued_trials(tracker::history::ExperimentView const& experiment);

}  // namespace det::experiment
