#pragma once
#include "prepare_creation.hpp"

namespace det::cli {

/// From the configuration to the answer that the command prints.
Outcome submit_experiment(ExperimentRequest const& request, Session& session);

}  // namespace det::cli
