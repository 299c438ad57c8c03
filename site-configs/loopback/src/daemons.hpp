#pragma once
#include <string>

#include "hosts.hpp"
#include "keeper_options.hpp"
#include "supervisor.hpp"

namespace det::loopback {

/// munged, slurmctld, and a slurmd on each node, in the order in which they start.
std::vector<DaemonSpec> plan_daemons(KeeperOptions const& options, Hosts const& hosts);
std::vector<std::string> daemon_environment(ClusterPaths const& paths);

inline constexpr char const* munge_daemon = "munged";
inline constexpr char const* controller_daemon = "slurmctld";
/// "slurmd.n0"
std::string node_daemon(int node_index);

}  // namespace det::loopback
