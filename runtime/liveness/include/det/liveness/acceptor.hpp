#pragma once
#include <det/foundation/files.hpp>
#include <det/liveness/pending_connections.hpp>

#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <sys/socket.h>

namespace det::liveness {

/// The other end of a connection, as an Acceptor sees it.
struct PeerSource {
    std::string source;        // see PendingConnections::add()
    std::string address = {};  // numeric; IPv4 also where the socket is one for IPv6
    /// Whether another user, or this one, has made the connection on this host. Both are false if the
    /// connection comes from elsewhere, or if the kernel does not tell.
    bool is_other_user = false, is_same_user = false;
};

/// The source of an address: IPv4 addresses each, 127.0.0.0/8 together, IPv6 by their /64 network, which one
/// host can use as a whole. Pure.
PeerSource source_of_address(sockaddr_storage const& address);
/// The source of a connection. A user of this host is a source whatever address he uses. Does not block.
PeerSource source_of_connection(int connection);

/// Accepts the connections of a TCP listener and authenticates them: it sends a greeting, and reads an answer
/// of fixed size, which must prove that the peer belongs to the job. Until then a connection costs a file
/// descriptor and at most the bytes of greeting and answer. One thread at a time; no function blocks.
class Acceptor {
public:
    using TimePoint = PendingConnections::TimePoint;

    struct Verdict {
        std::optional<int> peer;  // who has proven to belong to the job; nullopt: refused
        std::string reply;        // sent in both cases; may be empty
    };
    struct Handshake {
        std::size_t answer_bytes = 0;
        std::function<std::string()> make_greeting;
        std::function<Verdict(std::string_view greeting, std::string_view answer)> check;
    };
    struct Admitted {
        UniqueFd socket;  // non-blocking
        int peer;
    };

    /// \param listener a non-blocking socket that listens
    static Result<Acceptor> make(UniqueFd listener, Handshake handshake, PendingLimits const& limits = {});

    /// Connections from this numeric address come before those of strangers. An address from which a peer has
    /// authenticated counts as well.
    void add_node(std::string const& address);

    /// Readable, as poll(2) has it, when advance() has something to do.
    int fd() const { return epoll_.get(); }
    /// When advance() has something to do although fd() is not readable.
    TimePoint next_time() const { return pending_.next_change(); }
    /// Accepts, reads answers, and closes connections that have failed, are too slow or too many. Answers
    /// that have arrived are read before a connection is called too slow, so the caller may be away for long.
    /// \param on_admitted called for each connection that has authenticated; must not destroy this object
    /// \return whether there was something to do
    bool advance(std::function<void(Admitted)> const& on_admitted,
                 TimePoint now = std::chrono::steady_clock::now());
    /// Number of connections that have not authenticated.
    std::size_t pending() const { return pending_.size(); }

private:
    struct Connection {
        UniqueFd socket;
        std::string greeting, answer, address;
    };

    Acceptor(UniqueFd listener, UniqueFd epoll, Handshake handshake, PendingLimits const& limits);

    void accept_connections(TimePoint now);
    void add_connection(UniqueFd socket, TimePoint now);
    void read_answer(int fd, std::function<void(Admitted)> const& on_admitted);
    void close(int fd);
    void close_excess(TimePoint now);
    void watch_listener(bool is_wanted);

    UniqueFd listener_;
    UniqueFd epoll_;
    Handshake handshake_;
    PendingConnections pending_;
    std::map<int, Connection> connections_;  // by file descriptor
    std::set<std::string> nodes_;            // addresses
    bool is_listener_watched_ = true;
};

}  // namespace det::liveness
