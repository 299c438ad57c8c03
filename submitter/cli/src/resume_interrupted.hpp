#pragma once
#include <vector>

#include "open_experiment.hpp"

namespace det::cli {

/// The tasks whose trials were interrupted and are wanted: by the arrays that had them, their jobs being
/// gone. Pure.
std::vector<ArrayJob> plan_resubmission(tracker::history::ExperimentView const& experiment);

/// Submits each of them once more, held. The new arrays.
Result<std::vector<ArrayJob>> resubmit(OpenExperiment const& experiment, std::vector<ArrayJob> const& arrays,
                                       Session& session);

}  // namespace det::cli
