#pragma once
#include <det/foundation/files.hpp>

#include <vector>

#include "cluster_paths.hpp"

namespace det::loopback {

/// Everything below `base` that looks like a cluster of ours, up or not.
Result<std::vector<ClusterPaths>> find_clusters(std::filesystem::path const& base);

}  // namespace det::loopback
