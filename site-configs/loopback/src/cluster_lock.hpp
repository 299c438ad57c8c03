#pragma once
#include <det/foundation/files.hpp>

#include "cluster_paths.hpp"

namespace det::loopback {

/// Held by 'up' and 'down', so that one cluster is only ever changed by one of them. The file is gone when
/// the last of the cluster is.
class ClusterLock {
public:
    /// Waits for whoever holds it, up to a limit.
    static Result<ClusterLock> take(ClusterPaths const& paths);
    ClusterLock(ClusterLock&&) = default;
    ~ClusterLock();

private:
    ClusterLock(ClusterPaths paths, UniqueFd fd) : paths_(std::move(paths)), fd_(std::move(fd)) {}

    ClusterPaths paths_;
    UniqueFd fd_;
};

}  // namespace det::loopback
