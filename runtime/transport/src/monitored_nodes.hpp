#pragma once
#include <det/foundation/files.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "frames.hpp"
#include "node_messages.hpp"
#include "node_tree.hpp"

namespace det::transport {

/// What the supervisor knows of the nodes of its run, and how it finds out more: it gives each node a parent,
/// takes the beats, and examines silent nodes.
class MonitoredNodes final : public FrameHandler {
public:
    using Node = NodeMonitor::Node;
    /// An attempt to connect: what is known about it at a time (ReachAttempt::result).
    using Attempt = std::function<Reach(TimePoint now)>;
    /// What lies outside of this process. Tests give a clock and a network of their own.
    struct World {
        std::function<TimePoint()> now;
        std::function<Attempt(Endpoint const& target, TimePoint now)> reach;
        static World real();
    };
    /// Attempts that run at the same time. Each holds a socket, and so do up to 256 connections that have not
    /// authenticated and 192 that have: the usual limit of open files is 1,024.
    static constexpr int joining_max = 128, examinations_max = 128, endings_max = 128;

    /// \param own the node on the host of this process; nullopt: none
    MonitoredNodes(int nodes, std::optional<int> own, UniqueFd event, World world);

    // Called by other threads:
    std::vector<Node> copy() const;
    void request(NodeRequests requests);
    void confirm_newest_run(std::chrono::milliseconds valid_for);
    int fd() const { return event_.get(); }
    void clear_event() const;

    bool is_replaceable(Rank rank) override;
    void on_joined(Rank rank, Post const&) override;
    bool on_frame(Rank from, std::string_view frame, Post const& post) override;
    void on_left(Rank rank, Post const&) override;
    void on_tick(TimePoint now, Post const& post) override;
    std::size_t outgoing_max_bytes() const override { return node_messages::outgoing_max_bytes; }

private:
    /// Another node that was asked to connect to the silent one.
    struct Peer {
        int node;
        Reach report = Reach::unknown;
    };
    struct Examination {
        Attempt from_here;
        std::vector<Peer> peers;
        TimePoint report_deadline;
    };
    struct Entry {
        Node seen;
        std::uint32_t session = 0;
        std::optional<int> parent = {};  // as this process has chosen it; nullopt: none yet
        int children = 0;                // nodes whose parent it is
        std::vector<int> failed_parents = {};
        bool has_beaten = false;  // a beat has come since its last Hello, its own or of its parent
        std::optional<Endpoint> listener = {};
        bool must_be_reached = false;  // an attempt is wanted: the node has joined
        Attempt joining = {};          // that attempt
        bool has_joining_failed = false;
        std::optional<TimePoint> joining_again_at = {};  // after a first one that has failed
        Attempt ending = {};                             // after its connection has ended
        std::optional<Examination> examination = {};
        std::uint32_t round = 0;
        TimePoint next_examination = {};
        std::chrono::milliseconds pause{};
    };

    /// The acceptor admits numbers of nodes only.
    Entry& entry_of(Rank rank) { return entries_.at(static_cast<std::size_t>(rank.value)); }
    NodeRequests present_requests() const;
    void hear(Entry& entry);
    void announce() const;

    bool take_hello(int node, node_messages::Hello const& hello, Post const& post);
    bool give_parent(int node, Post const& post);
    bool can_be_parent(Entry const& child, int candidate) const;
    bool take_beat(Rank from, node_messages::Beat const& beat, Post const& post);
    void leave(Entry& entry);

    void start_examinations(TimePoint now, Post const& post);
    void advance_joining(Entry& entry, TimePoint now);
    void end_joining(Entry& entry, Reach reach, TimePoint now);
    void advance_ending(Entry& entry, TimePoint now);
    void forget_ending(Entry& entry);
    bool is_due(Entry const& entry, TimePoint now) const;
    void examine(int node, TimePoint now, Post const& post);
    std::vector<Peer> choose_peers(int silent) const;
    void take_report(Rank from, node_messages::Examined const& examined);
    void end_examination(Entry& entry, TimePoint now);

    std::optional<int> const own_;
    UniqueFd const event_;
    World const world_;
    mutable std::mutex mutex_;
    std::vector<Entry> entries_;  // by the number of the node
    int connected_ = 0;           // nodes with a connection to this process
    int joining_ = 0, examinations_ = 0, endings_ = 0;
    std::size_t next_examined_ = 0;  // the node that is looked at first for an examination
    NodeRequests requests_ = 0;
    TimePoint is_newest_until_ = {};  // until then nodes need not look for a newer run
    TimePoint last_tick_, next_announcement_ = {};
};

}  // namespace det::transport
