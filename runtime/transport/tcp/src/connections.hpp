#pragma once
#include <det/liveness/backoff.hpp>
#include <det/transport/rank_acceptor.hpp>
#include <det/transport/tcp/tcp_transport.hpp>

#include <map>
#include <optional>
#include <poll.h>

#include "connection.hpp"

namespace det::transport::tcp {

/// The connections of this rank to its peers, and the messages on them.
class Connections {
public:
    static Result<std::unique_ptr<Connections>> open(std::unique_ptr<Bootstrap> bootstrap, Options options);
    ~Connections();
    Connections(Connections const&) = delete;
    Connections& operator=(Connections const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return key_.size; }
    bool is_open() const { return bootstrap_ != nullptr; }
    void abandon() noexcept;

    Result<std::shared_ptr<SendRequest>> send(Rank to, Tag tag, Bytes bytes);
    std::shared_ptr<RecvRequest> receive(Rank from, Tag tag, MutableBytes into) {
        return mailbox_.post_receive(from, tag, into);
    }
    /// Cancels a send, after which its buffer is not accessed. If the message was partly sent, the connection
    /// is closed and the peer counts as lost.
    void cancel(Rank to, SendRequest const& request);
    void cancel(Rank from, Tag tag, std::shared_ptr<RecvRequest> const& request) {
        mailbox_.cancel(from, tag, request);
    }

    /// Blocks until the empty messages that replace cancelled ones have been sent: a later message can't be
    /// received before them.
    Status flush();

    /// Advances all connections without blocking. Returns false if there was nothing to do.
    bool progress();
    /// Blocks until `is_over` returns true. Fails if a rank is lost, or at the time limit of the WaitPolicy.
    Status wait(Rank peer, std::function<bool()> const& is_over);
    /// Fails if the monitor has reported a lost rank.
    Status check_ranks() const { return monitor_ ? monitor_->check() : Status(Ok{}); }
    /// Fails if a connection to the peer has broken. Before it fails, it waits up to half a second for the
    /// monitor to name the cause.
    Status check_alive(Rank peer) const;

private:
    struct Peer {
        std::uint32_t sent = 0, begun = 0;  // number of messages sent to it, and begun to receive from it
        bool is_lost = false;
        bool uses_our_connection = false;  // its last message arrived on the connection that this rank made
    };
    enum class Scope { peer_only, all };

    Connections(std::unique_ptr<Bootstrap> bootstrap, SessionKey key, std::vector<Endpoint> endpoints,
                Options options);
    Status accept_from(UniqueFd listener);

    void sleep_until_event();
    bool accept_connections();
    /// Scope::all: all connections. Scope::peer_only: those with unsent messages, those that this rank makes
    /// and whose handshake is not complete, and those of `peer` that are blocked or on which its last message
    /// arrived.
    bool advance_connections(Scope scope, Rank peer);
    bool advance_incoming(Scope scope, Rank peer);
    bool advance_outgoing(Scope scope, Rank peer);
    /// Returns this rank's connection to the peer; starts to connect if there is none.
    Result<OutgoingConnection*> outgoing_to(Rank to);
    /// Returns the connection that the peer made, if there is one and a message of this size uses it;
    /// otherwise nullptr.
    IncomingConnection* incoming_for_reply(Rank to, std::size_t size_bytes);
    /// Returns the receive for an arriving message. nullptr: an earlier message of this peer has not begun
    /// yet, or too many of its messages have no posted receive.
    std::shared_ptr<RecvRequest> match_next(Rank from, MessageHead const& head);
    bool has_cancelled_to(Rank peer) const;
    void mark_lost(Rank peer) { at(peer).is_lost = true; }
    bool has_all_ranks() const;
    Peer& at(Rank peer) { return peers_[static_cast<std::size_t>(peer.value)]; }
    Peer const& at(Rank peer) const { return peers_[static_cast<std::size_t>(peer.value)]; }

    Rank rank_;
    std::unique_ptr<Bootstrap> bootstrap_;        // nullptr after abandon()
    std::optional<liveness::Acceptor> acceptor_;  // nullopt after abandon()
    SessionKey key_;
    std::vector<Endpoint> endpoints_;  // by rank
    std::unique_ptr<RankMonitor> monitor_;
    WaitPolicy waits_;
    liveness::Cores cores_;
    std::map<int, OutgoingConnection> outgoing_;  // by rank
    std::vector<IncomingConnection> incoming_;
    Mailbox mailbox_;
    std::vector<Peer> peers_;  // by rank
    bool has_cancelled_ = false;
    std::vector<pollfd> entries_;
};

}  // namespace det::transport::tcp
