#pragma once
#include <det/foundation/result.hpp>

#include "cluster_options.hpp"
#include "cluster_paths.hpp"

namespace det::loopback {

/// Creates all files of a cluster before it starts: configuration, munge key, device nodes, users and their
/// homes.
Status create_cluster_files(ClusterOptions const& options, Proctrack proctrack,
                            SlurmInstallation const& slurm, ClusterPaths const& paths);

enum class Keep { nothing, logs_and_shared };
Status remove_cluster_files(ClusterPaths const& paths, Keep keep);

}  // namespace det::loopback
