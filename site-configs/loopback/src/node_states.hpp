#pragma once
#include <det/foundation/result.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "cluster_paths.hpp"

namespace det::loopback {

struct NodeState {
    std::string name;
    std::string state;  // as sinfo prints it: idle, down* ...
    std::string gres;
};

/// Runs sinfo in the cluster.
Result<std::vector<NodeState>> read_node_states(ClusterPaths const& paths, std::chrono::milliseconds timeout);

}  // namespace det::loopback
