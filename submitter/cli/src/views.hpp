#pragma once
#include <det/history/interruption.hpp>
#include <det/history/view.hpp>

#include <string>
#include <vector>

#include "session.hpp"

namespace det::cli {

/// What Slurm says of these experiments' jobs. Where it does not answer that is a warning, and the journals
/// speak alone.
history::QueueSight look_at_queue(std::vector<history::ExperimentRecord> const& records, Session& session);

/// Fields of an experiment that list, describe and wait show alike.
Json to_json(history::ExperimentView const& view);
Json to_json(history::TrialView const& trial);
Json to_json(history::Interruption const& interruption);

/// How often, and for how long, the trial had to make room. Journals of trials that never had to are not
/// read.
Result<std::vector<history::Interruption>> load_interruptions(RootLayout const& root,
                                                              history::TrialView const& trial);

/// "EXPERIMENT", "EXPERIMENT.TRIAL" or the trial's integer, or codes::usage.
Result<ExperimentId> require_experiment_id(std::string const& text);
Result<TrialId> require_trial_id(std::string const& text);

/// That trial of the experiment, or codes::no_such_trial.
Result<history::TrialView> require_trial(history::ExperimentView const& view, TrialId id);

}  // namespace det::cli
