#pragma once
#include <det/protocol/experiment_spec.hpp>

#include <string>

namespace det::cli {

/// Returns the hyperparameters that the searcher draws for a trial; an empty object if the draw fails.
Json hyperparameters_of(ExperimentSpec const& spec, std::uint32_t trial);

/// Returns "lr=0.1 layers.count=3". A nested hyperparameter has its path as its name.
std::string describe_hyperparameters(Json const& hyperparameters);

}  // namespace det::cli
