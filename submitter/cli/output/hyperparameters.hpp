#pragma once
#include <det/protocol/experiment_spec.hpp>

#include <string>

namespace det::cli {

/// What the searcher gave a trial; an empty object where that can't be told.
Json hyperparameters_of(ExperimentSpec const& spec, std::uint32_t trial);

/// "lr=0.1 layers.count=3": nested ones with their path.
std::string describe_hyperparameters(Json const& hyperparameters);

}  // namespace det::cli
