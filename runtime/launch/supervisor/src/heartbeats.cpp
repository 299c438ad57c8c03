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

/// A node that has ended in order since the directory was listed has no file for this object, which is a
/// change if it had one. The next object finds the file of its end.
std::optional<std::int64_t> SilentNodes::read_ns(int node) {
    constexpr std::int64_t no_file = 0;
    auto const heartbeat = run_.heartbeat(node);
    if (auto const changed = read_heartbeat_ns(heartbeat)) return changed;
    if (!files_) files_.emplace(NodeFiles::list(run_));
    auto const& files = *files_;
    if (!files || files->has_left(node)) return std::nullopt;
    return read_heartbeat_ns(heartbeat).value_or(no_file);
}

Result<NodeFiles> NodeFiles::list(RunLayout const& run) {
    DET_TRY_ASSIGN(auto names, list_directory(run.path()));
    std::ranges::sort(names);
    return NodeFiles(run, std::move(names));
}

bool NodeFiles::has(std::filesystem::path const& file) const {
    return std::ranges::binary_search(names_, file.filename().string());
}

std::optional<int> HeartbeatMonitor::check_for_silent_node(
    std::function<NodeContact(int node)> const& contact) {
    std::vector<NodeContact> contacts(nodes_.size(), NodeContact::unwatched);
    for (std::size_t node = 0; contact && node < nodes_.size(); ++node)
        contacts[node] = contact(static_cast<int>(node));
    bool const are_all_heard = std::ranges::count(contacts, NodeContact::heard) == std::ssize(contacts);
    if (are_all_heard) {
        std::ranges::fill(nodes_, NodeState{.has_begun = true});
        checks_without_any_ = 0;
        return std::nullopt;
    }
    auto const files = NodeFiles::list(run_);
    if (!files) return std::nullopt;
    std::optional<int> silent;
    bool all_ended = true;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        auto& seen = nodes_[node];
        seen = check(static_cast<int>(node), contacts[node], *files);
        all_ended = all_ended && seen.has_ended;
        if (seen.unchanged >= checks_until_silent && !silent) silent = static_cast<int>(node);
    }
    checks_without_any_ = all_ended ? checks_without_any_ + 1 : 0;
    return checks_without_any_ >= checks_until_all_ended ? std::optional(0) : silent;
}

HeartbeatMonitor::NodeState HeartbeatMonitor::check(int node, NodeContact contact,
                                                    NodeFiles const& files) const {
    using enum NodeContact;
    auto const& before = nodes_[static_cast<std::size_t>(node)];
    if (contact == heard) return {.has_begun = true};
    std::optional<std::int64_t> heartbeat;
    if (files.has_heartbeat(node)) heartbeat = read_heartbeat_ns(run_.heartbeat(node));
    // Output shows that a wrapper has begun, and a wrapper that lives and can't connect makes its file.
    bool const should_show = contact == silent || (contact == absent && files.has_output(node));
    bool const is_missing = should_show && !heartbeat && !files.has_left(node);
    if (is_missing) heartbeat = NodeState::missing;
    bool const is_unchanged = heartbeat && *heartbeat == before.heartbeat_ns;
    bool has_begun = before.has_begun || heartbeat || contact == left || files.has_left(node);
    // Without a monitor, a node that ended before the first check has left its log, or the record of its
    // failure. With one, the node says that it has ended.
    if (contact == unwatched) has_begun = has_begun || files.has_output(node);
    return {heartbeat.value_or(NodeState::unseen), is_unchanged ? before.unchanged + 1 : 0, has_begun,
            has_begun && !heartbeat, (!heartbeat || is_missing) && files.has_failures(node)};
}

std::optional<int> HeartbeatMonitor::find_node_without_slurmstepd() const {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        if (!nodes_[node].may_have_failed) continue;
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
