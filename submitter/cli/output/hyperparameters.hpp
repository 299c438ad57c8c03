#pragma once
#include <det/protocol/experiment_spec.hpp>

#include <string>

namespace det::cli {

/// The hyperparameters that the searcher gave a trial; an empty object if they are unknown.
Json hyperparameters_of(ExperimentSpec const& spec, std::uint32_t trial);

/// "lr=0.1 layers.count=3": nested ones with their path.
std::string describe_hyperparameters(Json const& hyperparameters);

}  // namespace det::cli
