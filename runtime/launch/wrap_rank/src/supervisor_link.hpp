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
/// one that sends ends, another one takes over. The page also says which files wrappers of this node have
/// made while there was no connection (Heartbeat).
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
    /// To be called when the command of this wrapper has ended and its failure is recorded; afterwards this
    /// object sends nothing. If this wrapper is the one that sends, tells the supervisor that the tasks of
    /// the node have ended in order, and blocks until it knows, for a second at most. Another wrapper that
    /// goes on connects again.
    /// \return false if the supervisor may not know of the end of the node, and no other wrapper will tell it
    bool leave();
    /// Number of nodes of the run.
    int nodes() const { return address_.nodes; }

    /// Files of this node in the directory of the run.
    enum class File : std::uint32_t { heartbeat = 1, left = 2 };
    /// To be called before the file is made.
    void note_file(File file) {
        page_->files.fetch_or(static_cast<std::uint32_t>(file), std::memory_order_relaxed);
    }
    /// Whether a wrapper of this node has made the file, and no other call has returned that since.
    bool take_file(File file);
    /// Whether no wrapper of this node has called this for so long.
    bool takes_turn(std::chrono::nanoseconds interval);
    /// Lets the beats carry this number, which changes while ranks of the node make progress.
    void show_activity(std::uint64_t activity);

private:
    /// Shared by the wrappers of a node; the file is zero at first. The wrapper that holds the lock of the
    /// file writes the first four numbers, each one the next two, and the one that looks at the waits of the
    /// ranks the others.
    struct Page {
        std::atomic<std::int64_t> answered_at_ns;  // by the node's steady clock; 0: never
        std::atomic<std::uint32_t> requests;
        std::atomic<std::uint32_t> has_left;      // the supervisor knows; no other wrapper was answered since
        std::atomic<std::uint32_t> was_answered;  // a wrapper of this node, ever
        std::atomic<std::uint32_t> files;         // bits of File
        std::atomic<std::int64_t> turn_at_ns;
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
    bool has_ended_ = false;                     // leave() was called
    std::optional<transport::NodeBeats> beats_;  // declared last: its thread uses the page
};

}  // namespace det::launch::wrap_rank
