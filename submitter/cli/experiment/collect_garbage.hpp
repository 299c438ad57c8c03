#pragma once
#include <det/experiment/open_experiment.hpp>
#include <det/retention/collect_garbage.hpp>

#include <string>
#include <vector>

#include "session.hpp"

namespace det::cli {

/// Removes the checkpoints that `policy` does not keep, or only lists them (GcMode::dry_run). Keeps the
/// checkpoints from which trials that have not ended may resume.
Result<retention::GcReport> collect_garbage(experiment::OpenExperiment const& experiment,
                                            retention::GcPolicy const& policy, retention::GcMode mode,
                                            Session& session);

/// Converts the result of a garbage collection to the JSON answer.
Json to_json(ExperimentId id, retention::GcPolicy const& policy, retention::GcReport const& report,
             retention::GcMode mode);
std::string render_checkpoints(ExperimentId id, std::vector<retention::KnownCheckpoint> const& checkpoints);

/// Returns the error of the first checkpoint that could not be removed; Ok if there is none.
Status first_failure(retention::GcReport const& report);

}  // namespace det::cli
