#pragma once
#include <det/experiment/context.hpp>
#include <det/protocol/layout.hpp>
#include <det/tracker/history/view.hpp>

#include <string>
#include <vector>

namespace det::experiment {

/// An experiment that a command is about to show or change.
struct OpenExperiment {
    RootLayout root;
    ExperimentLayout layout;
    tracker::history::ExperimentView view;

    ExperimentId id() const { return view.record.id; }
};

/// The jobs of these experiments. If Slurm does not answer, warns and returns a snapshot without an answer:
/// states then come from the journals only.
tracker::history::QueueSnapshot query_queue(std::vector<tracker::history::ExperimentRecord> const& records,
                                            Context& context);

/// Parses the id of an experiment or trial as people type it: "7", "7.3" or the trial's integer;
/// codes::usage.
Result<ExperimentId> require_experiment_id(std::string const& text);
Result<TrialId> require_trial_id(std::string const& text);
/// That trial of the experiment, or codes::no_such_trial.
Result<tracker::history::TrialView> require_trial(tracker::history::ExperimentView const& view, TrialId id);

/// If Slurm does not answer, warns and uses only the journals.
Result<OpenExperiment> open_experiment(std::string const& id, Context& context);
/// Fails if Slurm does not answer. Finds the jobs of an interrupted creation by their comments.
Result<OpenExperiment> open_experiment_with_jobs(std::string const& id, Context& context);

/// Appends an event: what was changed, by whom and when.
Status record_event(OpenExperiment const& experiment, std::string_view kind, Json body, Context& context);

}  // namespace det::experiment
