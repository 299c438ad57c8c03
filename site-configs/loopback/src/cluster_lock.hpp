#pragma once
#include <det/foundation/files.hpp>

#include "cluster_paths.hpp"

namespace det::loopback {

/// A lock file that 'up' and 'down' hold, so that only one process starts or ends a cluster at a time. The
/// destructor removes the file if the cluster's state directory no longer exists.
class ClusterLock {
public:
    /// Waits up to 90 s for another process to release the lock; then fails with codes::timed_out.
    static Result<ClusterLock> take(ClusterPaths const& paths);
    ClusterLock(ClusterLock&&) = default;
    ~ClusterLock();

private:
    ClusterLock(ClusterPaths paths, UniqueFd fd) : paths_(std::move(paths)), fd_(std::move(fd)) {}

    ClusterPaths paths_;
    UniqueFd fd_;
};

}  // namespace det::loopback
