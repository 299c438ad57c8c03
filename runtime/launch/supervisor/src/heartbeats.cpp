#include "heartbeats.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/rank_failure.hpp>

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>

namespace det::launch::supervisor {
namespace {

constexpr int checks_until_all_ended = 2;  // normally srun ends as soon as the last task has ended

}  // namespace

/// Opens the file: an NFS client asks the server on open(2), but may answer stat(2) from its cache.
std::optional<std::int64_t> read_heartbeat_ns(std::filesystem::path const& file) {
    UniqueFd const fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0) return std::nullopt;
    return info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec;
}

std::optional<int> HeartbeatMonitor::check_for_silent_node(std::function<bool(int node)> const& is_heard) {
    std::optional<int> silent;
    bool all_ended = true;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        auto& seen = nodes_[node];
        if (is_heard && is_heard(static_cast<int>(node))) {
            seen = {.has_begun = true};
            all_ended = false;
            continue;
        }
        auto const heartbeat = read_heartbeat_ns(run_.heartbeat(static_cast<int>(node)));
        bool const unchanged = heartbeat && *heartbeat == seen.heartbeat_ns;
        // A node that ended before the first check has left its log, or the record of its failure.
        auto const log = run_.node_log(static_cast<int>(node));
        bool const has_begun =
            seen.has_begun || heartbeat || path_exists(log) || path_exists(RunLayout::failures_beside(log));
        seen = {heartbeat.value_or(0), unchanged ? seen.unchanged + 1 : 0, has_begun,
                has_begun && !heartbeat};
        all_ended = all_ended && seen.has_ended;
        if (seen.unchanged >= checks_until_silent && !silent) silent = static_cast<int>(node);
    }
    checks_without_any_ = all_ended ? checks_without_any_ + 1 : 0;
    return checks_without_any_ >= checks_until_all_ended ? std::optional(0) : silent;
}

std::optional<int> HeartbeatMonitor::find_node_without_slurmstepd() const {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        if (!nodes_[node].has_ended) continue;
        auto const number = static_cast<int>(node);
        auto const text = read_file(RunLayout::failures_beside(run_.node_log(number)));
        if (!text) continue;
        if (std::ranges::any_of(parse_rank_failures(*text), &RankFailure::is_slurmstepd_gone)) return number;
    }
    return std::nullopt;
}

bool HeartbeatMonitor::is_any_overdue() const {
    return checks_without_any_ > 0 || std::ranges::any_of(nodes_, [](auto const& node) {
               return node.unchanged >= checks_until_silent / 2;
           });
}

void HeartbeatMonitor::restart() {
    for (auto& seen : nodes_) seen.unchanged = 0;
    checks_without_any_ = 0;
}

}  // namespace det::launch::supervisor
