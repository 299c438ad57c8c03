#pragma once
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

/// "EXPERIMENT", "EXPERIMENT.TRIAL" or the trial's integer, or codes::usage.
Result<ExperimentId> require_experiment_id(std::string const& text);
Result<TrialId> require_trial_id(std::string const& text);

}  // namespace det::cli
