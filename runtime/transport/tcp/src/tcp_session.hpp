#pragma once
#include <det/transport/backoff.hpp>
#include <det/transport/tcp.hpp>

#include <map>
#include <poll.h>

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
    std::shared_ptr<Arrival> receive(Rank from, Tag tag, MutableBytes into);
    /// The buffer is its owner's again, whatever that costs.
    void take_back(Rank to, Departure const& departure);
    void take_back(Rank from, Tag tag, std::shared_ptr<Arrival> const& arrival);

    /// Moves on everything that can be; false: there was nothing.
    bool progress();
    /// Until `is_over`, or an Error: the peer is lost, or out of patience.
    Status wait(Rank peer, std::function<bool()> const& is_over);
    /// An Error, once the watch knows of one that was lost.
    Status check_ranks() const { return watch_ ? watch_->check() : Status(Ok{}); }
    /// An Error, once we know that this rank is out of reach.
    Status check_alive(Rank peer) const;

private:
    struct Lane {
        std::deque<std::shared_ptr<Arrival>> asked_for;
        std::deque<std::shared_ptr<Arrival>> unexpected;
    };
    using LaneKey = std::pair<int, std::uint32_t>;  // peer and tag
    /// What a peer has sent too early, and how many messages of it are waited for.
    struct Early {
        std::uint64_t bytes = 0;
        int asked_for = 0;
    };

    TcpSession(std::unique_ptr<Bootstrap> bootstrap, UniqueFd listener, Club club,
               std::vector<Endpoint> endpoints, TcpOptions options);

    void sleep_until_something();
    bool accept_newcomers();
    /// Of this peer, else of all.
    bool advance_incoming(std::optional<Rank> only);
    /// Idle connections have nothing to say; all that can come on them is their end.
    enum class Idle { passed_over, looked_at };
    bool advance_outgoing(Idle idle);
    /// None: too much has come from this peer that nobody has asked for.
    std::shared_ptr<Arrival> place_for(Rank from, MessageHead const& head);
    bool may_keep(Rank from, std::uint64_t size) const;
    void deliver_to_self(Tag tag, Bytes bytes);
    void lose(Rank peer) { lost_[static_cast<std::size_t>(peer.value)] = true; }
    bool is_whole() const;
    Early& early_of(Rank peer) { return early_[static_cast<std::size_t>(peer.value)]; }
    Early const& early_of(Rank peer) const { return early_[static_cast<std::size_t>(peer.value)]; }

    Rank rank_;
    std::unique_ptr<Bootstrap> bootstrap_;  // none: we have left
    UniqueFd listener_;
    Club club_;
    std::vector<Endpoint> endpoints_;  // by rank
    std::unique_ptr<Watch> watch_;
    WaitRules waits_;
    Cores cores_;
    std::vector<bool> lost_;                      // by rank
    std::map<int, OutgoingConnection> outgoing_;  // by rank
    std::vector<IncomingConnection> incoming_;
    std::map<LaneKey, Lane> lanes_;
    std::size_t early_limit_bytes_;
    std::vector<Early> early_;  // by rank
    std::vector<pollfd> entries_;
};

}  // namespace det::transport
