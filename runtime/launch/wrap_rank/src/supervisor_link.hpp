#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>
#include <det/transport/node_monitor.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

namespace det::launch::wrap_rank {

/// The connection of this node to the supervisor of its run. All wrappers of a node share it: one of them
/// sends the beats, and the others read from a page in DET_RUN_DIR whether the supervisor answers. When the
/// one that sends ends, another one takes over. While there is no connection, wrappers touch their heartbeat
/// file instead.
class SupervisorLink {
public:
    /// \param node number of this node in the run
    /// \return nullptr if the supervisor has not said where it listens, or does not expect this node
    static std::unique_ptr<SupervisorLink> open(Environment const& environment, int node);
    SupervisorLink(SupervisorLink const&) = delete;
    SupervisorLink& operator=(SupervisorLink const&) = delete;
    ~SupervisorLink();

    /// Begins to send if no other wrapper of the node sends. To be called once a second.
    void advance();
    /// Whether the supervisor has answered a beat of this node in the last seconds.
    bool is_connected() const;
    /// The requests of the last answer.
    transport::NodeRequests requests() const;
    /// How often wrappers of this node have removed the heartbeat file at their end: those that go on make it
    /// again.
    std::uint32_t removed_files() const { return page_->removed_files.load(std::memory_order_relaxed); }
    void note_removed_file() { page_->removed_files.fetch_add(1, std::memory_order_relaxed); }
    /// Lets the beats carry this number, which changes while ranks of the node make progress.
    void show_activity(std::uint64_t activity);

private:
    /// Shared by the wrappers of a node; the file is zero at first. The wrapper that holds the lock of the
    /// file writes the first two numbers, each one the third, and the one that looks at the waits of the
    /// ranks the others.
    struct Page {
        std::atomic<std::int64_t> answered_at_ns;  // by the node's steady clock; 0: never
        std::atomic<std::uint32_t> requests;
        std::atomic<std::uint32_t> removed_files;
        std::atomic<std::uint32_t> has_activity;
        std::atomic<std::uint64_t> activity;
    };

    SupervisorLink(UniqueFd file, Page* page, transport::NodeMonitorAddress address,
                   std::filesystem::path secret_file, int node);

    UniqueFd const file_;
    Page* const page_;
    transport::NodeMonitorAddress const address_;
    std::filesystem::path const secret_file_;
    int const node_;
    std::optional<std::chrono::steady_clock::time_point> next_attempt_at_;
    std::optional<transport::NodeBeats> beats_;  // declared last: its thread uses the page
};

}  // namespace det::launch::wrap_rank
