#include <fmt/format.h>
#include <set>

#include "cluster_lock.hpp"
#include "commands.hpp"
#include "keeper_record.hpp"
#include "known_clusters.hpp"
#include "requirements.hpp"
#include "teardown.hpp"

namespace det::loopback {

Result<int> run_down(ClusterPaths const& paths, Keep keep) {
    DET_TRY(require_root());
    if (!path_exists(paths.state()) && !path_exists(paths.lock())) {
        fmt::print("no cluster '{}'\n", paths.name());
        return 0;
    }
    DET_TRY_ASSIGN(auto const lock, ClusterLock::take(paths));
    bool const was_there = path_exists(paths.state());
    DET_TRY(tear_down(paths, keep));
    if (!was_there) {
        fmt::print("no cluster '{}'\n", paths.name());
    } else if (keep == Keep::logs_and_shared) {
        fmt::print("cluster '{}' is down; logs and shared files are in {}\n", paths.name(),
                   paths.state().string());
    } else {
        fmt::print("cluster '{}' is down\n", paths.name());
    }
    return 0;
}

Result<int> run_down_all(std::filesystem::path const& base, Keep keep) {
    DET_TRY(require_root());
    DET_TRY_ASSIGN(auto const clusters, find_clusters(base));
    if (clusters.empty()) fmt::print("no clusters in {}\n", base.string());
    for (auto const& paths : clusters) DET_TRY(run_down(paths, keep));
    return 0;
}

}  // namespace det::loopback
