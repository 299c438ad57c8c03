#include <csignal>
#include <fmt/format.h>

#include "cluster_cgroup.hpp"
#include "cluster_lock.hpp"
#include "cluster_record.hpp"
#include "commands.hpp"
#include "error_codes.hpp"

namespace det::loopback {
namespace {

constexpr std::chrono::seconds term_limit{15}, kill_limit{15};

/// A frozen process can't be killed, and the PID namespace does not end before it. Slurm freezes a job's
/// cgroup whenever it signals the job, so the groups are thawed repeatedly.
bool ends_within(std::chrono::seconds limit, ClusterPaths const& paths, ProcessHandle const& init) {
    constexpr std::chrono::milliseconds thaw_interval{200};
    Deadline const deadline(limit);
    while (!init.wait_until(Deadline(thaw_interval))) {
        if (deadline.has_passed()) return false;
        thaw_cluster_group(paths.cgroup_name());
    }
    return true;
}

Status end_init_process(ClusterPaths const& paths, ProcessHandle const& init) {
    init.signal(SIGTERM);
    if (ends_within(term_limit, paths, init)) return Ok{};
    init.signal(SIGKILL);
    if (ends_within(kill_limit, paths, init)) return Ok{};
    return Error{codes::timed_out, fmt::format("the init process, {}, does not end", init.pid()),
                 fmt::format("look at 'cat /proc/{}/stack'", init.pid())};
}

}  // namespace

Status tear_down(ClusterPaths const& paths, Keep keep) {
    DET_TRY_ASSIGN(auto const running, find_running(paths));
    if (running) DET_TRY(end_init_process(paths, running->init));
    DET_TRY(remove_cluster_group(paths.cgroup_name()));
    return remove_cluster_files(paths, keep);
}

Result<int> run_down(ClusterPaths const& paths, Keep keep) {
    DET_TRY(require_root_user());
    if (!path_exists(paths.state()) && !path_exists(paths.lock())) {
        fmt::print("no cluster '{}'\n", paths.name());
        return 0;
    }
    DET_TRY_ASSIGN(auto const lock, ClusterLock::take(paths));
    bool const existed = path_exists(paths.state());
    DET_TRY(tear_down(paths, keep));
    if (!existed) {
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
    DET_TRY(require_root_user());
    DET_TRY_ASSIGN(auto const clusters, find_clusters(base));
    if (clusters.empty()) fmt::print("no clusters in {}\n", base.string());
    for (auto const& paths : clusters) DET_TRY(run_down(paths, keep));
    return 0;
}

}  // namespace det::loopback
