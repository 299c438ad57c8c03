#pragma once
#include <string>
#include <vector>

#include "cluster_cgroup.hpp"
#include "cluster_options.hpp"
#include "cluster_paths.hpp"

// Renders the cluster's configuration files. Pure functions.
namespace det::loopback {

/// Addresses are the same in every cluster, because each cluster has its own network namespaces.
std::string node_address(int index);
inline constexpr char const* controller_address = "10.77.0.254";
inline constexpr int network_prefix_bits = 24;
inline constexpr int controller_port = 6817;
inline constexpr int node_port = 6818;
inline constexpr int slurmdbd_port = 6819;
inline constexpr int database_port = 3306;

std::string render_slurm_conf(ClusterOptions const& options, Proctrack proctrack, ClusterPaths const& paths);
std::string render_gres_conf(ClusterOptions const& options, ClusterPaths const& paths);
/// Needed for linuxproc too: without this file slurmd looks for a cgroup v2 tree and exits.
std::string render_cgroup_conf(SlurmVersion slurm, CgroupVersion version, SiteProfile const& profile,
                               ClusterPaths const& paths);
std::string render_slurmdbd_conf(ClusterPaths const& paths);
std::string render_plugstack_conf(Plugin plugin, ClusterPaths const& paths);
std::string render_etc_hosts(int nodes);

/// Each line of `overrides` replaces the line with its key, or is appended. For keys that occur more than
/// once (NodeName, PartitionName ...) the names must be equal too.
void override_lines(std::vector<ConfigLine>& lines, std::vector<ConfigLine> const& overrides);

}  // namespace det::loopback
