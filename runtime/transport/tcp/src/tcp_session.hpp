#pragma once
#include <det/transport/backoff.hpp>
#include <det/transport/tcp.hpp>

#include <map>
#include <poll.h>

#include "mailbox.hpp"
#include "tcp_connection.hpp"

namespace det::transport {

/// Connections to and from the peers that we have talked to, and the messages between.
class TcpSession {
public:
    static Result<std::unique_ptr<TcpSession>> open(std::unique_ptr<Bootstrap> bootstrap, TcpOptions options);
    ~TcpSession();
    TcpSession(TcpSession const&) = delete;
    TcpSession& operator=(TcpSession const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return club_.size; }
    bool is_open() const { return bootstrap_ != nullptr; }
    void abandon() noexcept;

    Result<std::shared_ptr<Departure>> send(Rank to, Tag tag, Bytes bytes);
    std::shared_ptr<Arrival> receive(Rank from, Tag tag, MutableBytes into) {
        return mailbox_.ask_for(from, tag, into);
    }
    /// The buffer is its owner's again, whatever that costs.
    void take_back(Rank to, Departure const& departure);
    void take_back(Rank from, Tag tag, std::shared_ptr<Arrival> const& arrival) {
        mailbox_.take_back(from, tag, arrival);
    }

    /// Until nothing that follows waits for what was taken back.
    Status settle();

    /// Moves on everything that can be; false: there was nothing.
    bool progress();
    /// Until `is_over`, or an Error: the peer is lost, or out of patience.
    Status wait(Rank peer, std::function<bool()> const& is_over);
    /// An Error, once the watch knows of one that was lost.
    Status check_ranks() const { return watch_ ? watch_->check() : Status(Ok{}); }
    /// An Error, once we know that this rank is out of reach.
    Status check_alive(Rank peer) const;

private:
    struct Peer {
        std::uint32_t sent = 0, begun = 0;  // messages to it, and from it
        bool is_lost = false;
        bool speaks_on_ours = false;  // its last message came on the connection that we made
    };
    enum class Look { at_peer, at_all };

    TcpSession(std::unique_ptr<Bootstrap> bootstrap, UniqueFd listener, Club club,
               std::vector<Endpoint> endpoints, TcpOptions options);

    void sleep_until_something();
    bool accept_newcomers();
    /// At all connections; or at those that have something to send, and at that on which `peer` spoke last.
    bool advance_connections(Look look, Rank peer);
    bool advance_incoming(Look look, Rank peer);
    bool advance_outgoing(Look look, Rank peer);
    /// Ours to this peer.
    Result<OutgoingConnection*> call(Rank to);
    /// The peer's, where a message of this size goes by that.
    IncomingConnection* answering_connection(Rank to, std::size_t size_bytes);
    /// None: it is another's turn, or too much has come from this peer that nobody has asked for.
    std::shared_ptr<Arrival> next_from(Rank from, MessageHead const& head);
    bool owes(Rank peer) const;
    void lose(Rank peer) { at(peer).is_lost = true; }
    bool is_whole() const;
    Peer& at(Rank peer) { return peers_[static_cast<std::size_t>(peer.value)]; }
    Peer const& at(Rank peer) const { return peers_[static_cast<std::size_t>(peer.value)]; }

    Rank rank_;
    std::unique_ptr<Bootstrap> bootstrap_;  // none: we have left
    UniqueFd listener_;
    Club club_;
    std::vector<Endpoint> endpoints_;  // by rank
    std::unique_ptr<Watch> watch_;
    WaitRules waits_;
    Cores cores_;
    std::map<int, OutgoingConnection> outgoing_;  // by rank
    std::vector<IncomingConnection> incoming_;
    Mailbox mailbox_;
    std::vector<Peer> peers_;  // by rank
    bool has_taken_back_ = false;
    std::vector<pollfd> entries_;
};

}  // namespace det::transport
