#pragma once
#include <string>
#include <vector>

#include "cluster_options.hpp"
#include "cluster_paths.hpp"

// What the cluster's configuration files say. Pure: values in, text out.
namespace det::loopback {

/// Addresses are the same in every cluster: each has a network of its own.
std::string node_address(int index);
inline constexpr char const* controller_address = "10.77.0.254";
inline constexpr int network_prefix_bits = 24;
inline constexpr int controller_port = 6817;
inline constexpr int node_port = 6818;

std::string render_slurm_conf(ClusterOptions const& options, Proctrack proctrack, ClusterPaths const& paths);
std::string render_gres_conf(ClusterOptions const& options, ClusterPaths const& paths);
std::string render_cgroup_conf(ClusterPaths const& paths);
std::string render_plugstack_conf(Plugin plugin, ClusterPaths const& paths);
std::string render_hosts(int nodes);

/// A line replaces the one with its key. Keys of which a file has many (NodeName, PartitionName ...) are the
/// same only when their names are.
void override_lines(std::vector<ConfigLine>& lines, std::vector<ConfigLine> const& overrides);

}  // namespace det::loopback
