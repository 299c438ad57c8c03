#pragma once
#include <det/config/experiment_config.hpp>
#include <det/config/layers.hpp>

#include <vector>

namespace det::experiment {

/// Returns the layers of `experiment create --test`, to be put above those of the user: one trial of one
/// batch with one point of the search space, no restarts, and a GC policy that keeps no checkpoint. Pure.
/// \param config the experiment that is tested
std::vector<config::Layer> test_layers(config::ExperimentConfig const& config);

}  // namespace det::experiment
