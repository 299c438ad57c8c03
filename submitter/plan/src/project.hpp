#pragma once
#include <det/config/experiment_config.hpp>

namespace det::plan {

/// What --wckey says of an experiment, by the site's job_project_source: its project, its workspace, its
/// labels, or its labels that have a prefix, without it. Empty: nothing. Pure.
std::string project_name(std::string_view source, config::ExperimentConfig const& config);

}  // namespace det::plan
