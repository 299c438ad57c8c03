#pragma once
#include <det/site/check.hpp>

namespace det::site {

/// The seconds that a preempted trial of the pool needs; `entry` may be null.
std::int64_t grace_time_wanted_s(config::PoolEntry const* entry);

using Findings = std::vector<Finding>;

/// Checks the settings of Slurm that do not depend on the pools.
void check_slurm_settings(config::SiteFile const& file, slurm::ClusterConfig const& config, Findings& found);
void check_plugin(PluginFacts const& plugin, slurm::ClusterConfig const& config, Findings& found);

/// \return True if DefMemPerNode or DefMemPerCPU is set for the whole cluster.
bool has_default_memory(slurm::ClusterConfig const& config);

}  // namespace det::site
