#pragma once
#include <det/foundation/process.hpp>

#include <string>
#include <vector>

#include "cluster_paths.hpp"

namespace det::loopback {

/// Runs a command as root on the cluster's login host and returns what it wrote: this program again, as
/// 'login'.
Result<ProcessOutput> run_inside(ClusterPaths const& paths, std::vector<std::string> argv,
                                 std::chrono::milliseconds timeout);

struct NodeState {
    std::string name;
    std::string state;  // Slurm's word: idle, down* ...
    std::string gres;
};

/// As slurmctld sees them.
Result<std::vector<NodeState>> read_node_states(ClusterPaths const& paths, std::chrono::milliseconds timeout);

}  // namespace det::loopback
