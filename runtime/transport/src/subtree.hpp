#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "node_messages.hpp"

namespace det::transport {

/// What a node knows of its descendants: it merges their beats into its own ones, and passes the requests of
/// the supervisor on. Thread-safe; only wait_for_children() and wait_until_told() block. Time is given, so
/// that tests have a clock of their own.
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
    /// The children that wait for the answer to their Leaving, and get it now: the supervisor knows of their
    /// end, and of all departures in their beats. Each is returned once.
    std::vector<int> take_known_children();
    /// Whether take_known_children() would return any.
    bool has_known_children() const;

    // For the connection to the parent:
    /// To be called for each new one: what was sent over another one is not answered any more.
    void begin_uplink();
    /// \return the beat of this node, with what its descendants have sent
    node_messages::Beat make_beat(std::optional<std::uint64_t> activity, TimePoint now);
    void take_answer(node_messages::BeatAnswer const& answer, TimePoint now);
    /// To be called when the parent has answered the Leaving of this node: all that was sent is known.
    void take_leaving_known();
    /// Whether the supervisor does not know of a departure yet.
    bool has_departures() const;
    /// Whether a departure was not sent on this connection.
    bool has_unsent_departures() const;
    /// Whether a child may wait for a departure to become known: the next beat should not wait for its time.
    bool has_new_departures(TimePoint now) const;
    int children() const;
    /// Waits until no child that was heard lately is left, at most `limit`.
    void wait_for_children(std::chrono::milliseconds limit);
    /// Waits until take_known_children() has returned all that it can, at most `limit`.
    void wait_until_told(std::chrono::milliseconds limit);

private:
    struct Child {
        std::uint32_t session = 0;
        TimePoint heard_at, beaten_at = {};  // the last message, the last beat
        bool is_new = false;                 // its last beat has not been merged yet
        std::optional<std::uint64_t> activity = {};
        std::vector<node_messages::NodeWord> heard = {};
        std::uint64_t known = 0;  // number of its newest beat of which all departures, and earlier ones, were
                                  // known to the supervisor
    };
    struct PendingDeparture {
        node_messages::Departure departure;
        TimePoint added_at = {};
        std::vector<int> via = {};  // the children that have sent it
        std::uint64_t sent_in = 0;  // number of the first beat with it on this connection; 0: none
    };

    bool is_descendant(std::int32_t node) const { return node >= 0 && node < nodes_ && node != node_; }
    bool take_beat(int from, Child& child, node_messages::Beat const& beat, TimePoint now);
    int children_heard_at(TimePoint now) const;
    void note_known_departures(std::uint64_t number);
    void add_departure(node_messages::Departure const& departure, int via, TimePoint now);
    bool is_all_known_of(int child) const;
    node_messages::BeatAnswer make_answer(int child, std::uint64_t number, TimePoint now);

    int const nodes_;
    int const node_;
    mutable std::mutex mutex_;
    std::condition_variable children_changed_;
    std::map<int, Child> children_;
    // By node: those that the supervisor may not know yet, and the sessions of those that it knows.
    std::map<std::int32_t, PendingDeparture> departures_;
    std::map<std::int32_t, std::uint32_t> known_departures_;
    std::set<int> leaving_children_;  // that wait for the answer to their Leaving
    std::uint64_t number_ = 0;        // of the last beat
    NodeRequests requests_ = node_requests::look_for_newer_run;
    std::optional<TimePoint> requested_at_;  // when the supervisor has made them, by the clock of this node
};

}  // namespace det::transport
