#pragma once
#include <string>

#include "cluster_hosts.hpp"
#include "cluster_options.hpp"
#include "daemon_supervisor.hpp"

namespace det::loopback {

/// Returns the daemons in the order in which they start: munged, with accounting mariadbd and slurmdbd,
/// slurmctld, and one slurmd per node.
std::vector<DaemonSpec> plan_daemons(InitOptions const& options, ClusterHosts const& hosts);
std::vector<std::string> daemon_environment(ClusterPaths const& paths);

inline constexpr char const* munge_daemon = "munged";
inline constexpr char const* controller_daemon = "slurmctld";
/// "slurmd.n0"
std::string node_daemon(int node_index);

}  // namespace det::loopback
