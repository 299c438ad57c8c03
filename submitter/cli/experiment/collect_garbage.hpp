#pragma once
#include <det/experiment/open_experiment.hpp>
#include <det/retention/collect_garbage.hpp>

#include <string>
#include <vector>

#include "session.hpp"

namespace det::cli {

/// Removes the checkpoints that `policy` does not keep, or only lists them. Trials that have not ended keep
/// what they may resume from.
Result<retention::GcReport> collect_garbage(experiment::OpenExperiment const& experiment,
                                            retention::GcPolicy const& policy, retention::GcMode mode,
                                            Session& session);

/// The answer of a collection.
Json to_json(ExperimentId id, retention::GcPolicy const& policy, retention::GcReport const& report,
             retention::GcMode mode);
std::string render_checkpoints(ExperimentId id, std::vector<retention::KnownCheckpoint> const& checkpoints);

/// The first checkpoint that could not be removed.
Status first_failure(retention::GcReport const& report);

}  // namespace det::cli
