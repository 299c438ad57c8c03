#pragma once
#include <det/tracker/history/interruption.hpp>
#include <det/tracker/history/view.hpp>

#include <string>
#include <vector>

#include "session.hpp"

namespace det::cli {

/// What Slurm says of these experiments' jobs. Where it does not answer that is a warning, and the journals
/// speak alone.
tracker::history::QueueSnapshot look_at_queue(std::vector<tracker::history::ExperimentRecord> const& records,
                                           Session& session);

/// Fields of an experiment that list, describe and wait show alike.
Json to_json(tracker::history::ExperimentView const& view);
Json to_json(tracker::history::TrialView const& trial);
Json to_json(tracker::history::Interruption const& interruption);

/// How often, and for how long, the trial had to make room. Journals of trials that never had to are not
/// read.
Result<std::vector<tracker::history::Interruption>> load_interruptions(
    RootLayout const& root, tracker::history::TrialView const& trial);

/// "EXPERIMENT", "EXPERIMENT.TRIAL" or the trial's integer, or codes::usage.
Result<ExperimentId> require_experiment_id(std::string const& text);
Result<TrialId> require_trial_id(std::string const& text);

/// That trial of the experiment, or codes::no_such_trial.
Result<tracker::history::TrialView> require_trial(tracker::history::ExperimentView const& view, TrialId id);

}  // namespace det::cli
