#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::liveness {

/// Limits of a listener for connections that have not authenticated.
struct PendingLimits {
    std::size_t connections = 128;      // of all sources together
    std::size_t of_one_source = 32;     // an address, or a user of this host
    std::chrono::seconds handshake{2};  // from the accept to the proof
    /// The connection of a node is not closed earlier in favour of another one.
    std::chrono::milliseconds node_protection{100};
    /// So many connections may end without a proof in a second. Further ones stay in the queue of the kernel.
    int failures_per_s = 500;

    /// Limits for a listener to which up to `ranks` ranks connect at once. Pure.
    static PendingLimits for_ranks(int ranks);
};

/// Decides which connections of a listener get time to authenticate. It knows no sockets: the caller accepts
/// and closes. Nodes of the job come before strangers; among equals, the source with the most connections
/// loses its oldest one. Not thread-safe.
class PendingConnections {
public:
    using TimePoint = std::chrono::steady_clock::time_point;
    using Id = std::uint64_t;  // chosen by the caller, for example the file descriptor
    enum class Origin { node, stranger };

    PendingConnections(PendingLimits const& limits, TimePoint now);

    /// Whether the listener may accept a connection now.
    bool may_accept(TimePoint now);
    /// Makes may_accept() false for some milliseconds: this process has no more file descriptors or memory.
    void rest(TimePoint now);
    /// \param source all connections of one source have the same text
    void add(Id id, std::string source, Origin origin, TimePoint now);
    /// Does nothing if there is no such connection.
    void remove_authenticated(Id id);
    void remove_failed(Id id);
    /// Begins the time of a connection again. Does nothing if there is no such connection.
    void restart_time(Id id, TimePoint now);

    /// A connection that must be closed because there are too many; the caller asks again after
    /// remove_failed().
    std::optional<Id> find_excess(TimePoint now) const;
    /// A connection whose time is over; the caller asks again after remove_failed().
    std::optional<Id> find_overdue(TimePoint now) const;

    /// When an answer of this object may change without a call: TimePoint::max() for never.
    TimePoint next_change() const;
    std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        Id id;
        std::string source;
        Origin origin;
        TimePoint began;
    };
    using Entries = std::vector<Entry>;

    Entries::const_iterator find(Id id) const;
    std::size_t count_of(std::string const& source) const;
    /// The entry to be closed next, whether its protection is over or not.
    Entry const* excess() const;
    Entry const* oldest_of_heaviest_source(Origin origin) const;
    bool may_close(Entry const& entry, TimePoint now) const;
    void refill(TimePoint now);

    PendingLimits limits_;
    Entries entries_;  // the oldest first
    double credit_;    // connections that may still end without a proof
    TimePoint credit_at_;
    bool is_resting_ = false;  // the credit was used up and has not come back yet
};

}  // namespace det::liveness
