#pragma once
#include <det/foundation/result.hpp>

#include "cluster_paths.hpp"
#include "state_directory.hpp"

namespace det::loopback {

/// Ends whatever there is of the cluster, running or not, and removes it. The caller holds its lock.
Status tear_down(ClusterPaths const& paths, Keep keep);

}  // namespace det::loopback
