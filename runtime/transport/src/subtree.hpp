#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "node_messages.hpp"

namespace det::transport {

/// What a node knows of its descendants: it merges their beats into its own ones, and passes the requests of
/// the supervisor on. Thread-safe; only wait_for_children() blocks. Time is given, so that tests have a clock
/// of their own.
class Subtree {
public:
    using TimePoint = std::chrono::steady_clock::time_point;
    /// From this silence on a new connection of a child replaces the one that it has.
    static constexpr std::chrono::milliseconds replaceable_after = NodeMonitor::suspected_after;

    Subtree(int nodes, int node) : nodes_(nodes), node_(node) {}

    // For the port of the node:
    void add_child(int child, TimePoint now);
    void remove_child(int child);
    bool is_replaceable(int child, TimePoint now) const;
    /// Takes a message of a child.
    /// \return false for one that is not valid, or the Hello of a child too many: the connection must be
    ///     closed. Silent children are not counted
    bool take(int child, node_messages::FromNode const& message, TimePoint now,
              std::optional<node_messages::BeatAnswer>& answer);

    // For the connection to the parent:
    /// To be called for each new one: what was sent over another one is not answered any more.
    void begin_uplink();
    /// \return the beat of this node, with what its descendants have sent
    node_messages::Beat make_beat(std::optional<std::uint64_t> activity, TimePoint now);
    void take_answer(node_messages::BeatAnswer const& answer, TimePoint now);
    /// To be called if the departures in this beat need not be sent again. take_answer() does it.
    void drop_departures(std::uint64_t number);
    /// Whether a departure has not been answered yet.
    bool has_departures() const;
    int children() const;
    /// Waits until no child that was heard lately is left, at most `limit`.
    void wait_for_children(std::chrono::milliseconds limit);

private:
    struct Child {
        std::uint32_t session = 0;
        TimePoint heard_at, beaten_at = {};  // the last message, the last beat
        bool is_new = false;                 // its last beat has not been merged yet
        std::optional<std::uint64_t> activity = {};
        std::vector<node_messages::NodeWord> heard = {};
    };
    struct PendingDeparture {
        node_messages::Departure departure;
        std::uint64_t sent_in = 0;  // number of the first beat with it on this connection; 0: none
    };

    bool is_descendant(std::int32_t node) const { return node >= 0 && node < nodes_ && node != node_; }
    bool take_beat(Child& child, node_messages::Beat const& beat);
    int children_heard_at(TimePoint now) const;
    void erase_departures(std::uint64_t number);
    void add_departure(node_messages::Departure const& departure);
    node_messages::BeatAnswer make_answer(std::uint64_t number, TimePoint now) const;

    int const nodes_;
    int const node_;
    mutable std::mutex mutex_;
    std::condition_variable children_changed_;
    std::map<int, Child> children_;
    std::map<std::int32_t, PendingDeparture> departures_;  // by node
    std::uint64_t number_ = 0;                             // of the last beat
    NodeRequests requests_ = node_requests::look_for_newer_run;
    std::optional<TimePoint> requested_at_;  // when the supervisor has made them, by the clock of this node
};

}  // namespace det::transport
