#pragma once
#include <det/site/check.hpp>

namespace det::site {

using Findings = std::vector<Finding>;

/// Slurm's settings, whatever the pools are.
void check_settings(config::SiteFile const& file, slurm::ClusterConfig const& config, Findings& found);
void check_plugin(PluginFacts const& plugin, slurm::ClusterConfig const& config, Findings& found);

/// DefMemPerNode, DefMemPerCPU ... of the whole cluster.
bool has_default_memory(slurm::ClusterConfig const& config);

}  // namespace det::site
