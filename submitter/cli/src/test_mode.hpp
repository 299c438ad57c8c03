#pragma once
#include <det/config/experiment_config.hpp>

#include <string>
#include <vector>

namespace det::cli {

/// What `experiment create --test` puts over a configuration, as --config writes it: one trial of one batch
/// with one point of the search, no restarts, no checkpoint kept. Pure.
std::vector<std::string> test_overrides(config::ExperimentConfig const& config);

}  // namespace det::cli
