#pragma once
#include <det/liveness/backoff.hpp>
#include <det/transport/tcp/tcp_transport.hpp>

#include <map>
#include <poll.h>

#include "connection.hpp"
#include "mailbox.hpp"

namespace det::transport::tcp {

/// Connections to and from the peers that we have talked to, and the messages between.
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
    /// The buffer is its owner's again, whatever that costs.
    void cancel(Rank to, SendRequest const& request);
    void cancel(Rank from, Tag tag, std::shared_ptr<RecvRequest> const& request) {
        mailbox_.cancel(from, tag, request);
    }

    /// Until nothing that follows waits for what was taken back.
    Status flush();

    /// Moves on everything that can be; false: there was nothing.
    bool progress();
    /// Until `is_over`, or an Error: the peer is lost, or out of wait.
    Status wait(Rank peer, std::function<bool()> const& is_over);
    /// An Error, once the monitor knows of one that was lost.
    Status check_ranks() const { return monitor_ ? monitor_->check() : Status(Ok{}); }
    /// An Error, once we know that this rank is out of reach.
    Status check_alive(Rank peer) const;

private:
    struct Peer {
        std::uint32_t sent = 0, begun = 0;  // messages to it, and from it
        bool is_lost = false;
        bool uses_our_connection = false;  // its last message came on the connection that we made
    };
    enum class Scope { peer_only, all };

    Connections(std::unique_ptr<Bootstrap> bootstrap, UniqueFd listener, SessionKey key,
                std::vector<Endpoint> endpoints, Options options);

    void sleep_until_event();
    bool accept_connections();
    /// At all connections; or at those that have something to send, and at that on which `peer` spoke last.
    bool advance_connections(Scope scope, Rank peer);
    bool advance_incoming(Scope scope, Rank peer);
    bool advance_outgoing(Scope scope, Rank peer);
    /// Ours to this peer.
    Result<OutgoingConnection*> outgoing_to(Rank to);
    /// The peer's, where a message of this size goes by that.
    IncomingConnection* incoming_for_reply(Rank to, std::size_t size_bytes);
    /// None: it is another's turn, or too much has come from this peer that nobody has asked for.
    std::shared_ptr<RecvRequest> match_next(Rank from, MessageHead const& head);
    bool has_cancelled_to(Rank peer) const;
    void mark_lost(Rank peer) { at(peer).is_lost = true; }
    bool has_all_ranks() const;
    Peer& at(Rank peer) { return peers_[static_cast<std::size_t>(peer.value)]; }
    Peer const& at(Rank peer) const { return peers_[static_cast<std::size_t>(peer.value)]; }

    Rank rank_;
    std::unique_ptr<Bootstrap> bootstrap_;  // none: we have left
    UniqueFd listener_;
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
