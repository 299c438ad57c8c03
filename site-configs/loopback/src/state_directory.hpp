#pragma once
#include <det/foundation/result.hpp>

#include "cluster_options.hpp"
#include "cluster_paths.hpp"

namespace det::loopback {

/// All files of a cluster that is about to start.
Status make_state_directory(ClusterOptions const& options, Proctrack proctrack, ClusterPaths const& paths);

enum class Keep { nothing, logs_and_shared };
Status remove_state_directory(ClusterPaths const& paths, Keep keep);

}  // namespace det::loopback
