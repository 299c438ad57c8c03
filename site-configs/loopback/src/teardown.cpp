#include "teardown.hpp"

#include <csignal>
#include <fmt/format.h>

#include "codes.hpp"
#include "freezer.hpp"
#include "keeper_record.hpp"

namespace det::loopback {
namespace {

constexpr std::chrono::seconds term_limit{15}, kill_limit{15};

/// A frozen process can't even be killed, and holds up the end of its PID namespace for ever. Slurm freezes
/// jobs whenever it signals them, so thawing once is not enough.
bool ends_within(std::chrono::seconds limit, ClusterPaths const& paths, ProcessHandle const& keeper) {
    constexpr std::chrono::milliseconds thaw_interval{200};
    Deadline const deadline(limit);
    while (!keeper.wait_until(Deadline(thaw_interval))) {
        if (deadline.has_passed()) return false;
        thaw_freezer_group(paths.cgroup_name());
    }
    return true;
}

Status end_keeper(ClusterPaths const& paths, ProcessHandle const& keeper) {
    keeper.signal(SIGTERM);
    if (ends_within(term_limit, paths, keeper)) return Ok{};
    keeper.signal(SIGKILL);
    if (ends_within(kill_limit, paths, keeper)) return Ok{};
    return Error{codes::timed_out, fmt::format("the keeper, process {}, does not end", keeper.pid()),
                 fmt::format("look at 'cat /proc/{}/stack'", keeper.pid())};
}

}  // namespace

Status tear_down(ClusterPaths const& paths, Keep keep) {
    DET_TRY_ASSIGN(auto const running, find_running(paths));
    if (running) DET_TRY(end_keeper(paths, running->keeper));
    DET_TRY(remove_freezer_group(paths.cgroup_name()));
    return remove_state_directory(paths, keep);
}

}  // namespace det::loopback
