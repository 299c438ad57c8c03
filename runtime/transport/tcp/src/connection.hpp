#pragma once
#include <det/transport/handshake.hpp>

#include "messages.hpp"

namespace det::transport::tcp {

// Both ends of a connection prove that they belong to the run, in non-blocking steps. After that both ends
// send messages.

/// A connection that this rank has made to a peer.
class OutgoingConnection {
public:
    static Result<OutgoingConnection> begin(Endpoint const& peer, SessionKey const& key, Rank self);

    /// -1 while there is no connection
    int fd() const { return socket_.get(); }
    /// The events for poll(2).
    short events() const;
    bool is_idle() const { return state_ == State::open && unsent_.empty() && writer_.is_idle(); }
    bool is_blocked() const { return reader_.is_blocked(); }
    MessageWriter& messages() { return writer_; }
    MessageWriter const& messages() const { return writer_; }
    /// Sends queued messages. Does nothing while the handshake is not complete.
    Progress write();
    /// Advances the handshake, or sends and receives messages. Does not block. A peer to which strangers
    /// connect closes connections that have not authenticated: then it connects again, for up to a minute.
    Progress advance(MessageReader::Match const& match);

private:
    enum class State { awaiting_greeting, awaiting_verdict, open, closed };
    OutgoingConnection(UniqueFd socket, Endpoint peer, SessionKey key, Rank self)
        : socket_(std::move(socket)), peer_(std::move(peer)), key_(std::move(key)), self_(self) {}

    Progress advance_handshake();
    Progress read_reply();
    Progress answer_greeting();
    /// After the peer has closed the connection during the handshake.
    Progress begin_again();
    Progress reconnect();

    UniqueFd socket_;
    Endpoint peer_;
    SessionKey key_;
    Rank self_;
    State state_ = State::awaiting_greeting;
    int attempts_ = 1;
    TimePoint reconnect_at_;
    std::string received_;
    std::string unsent_;
    std::string server_nonce_;
    std::string answer_;
    MessageWriter writer_;
    MessageReader reader_;
};

/// A connection that this rank has accepted, after the peer has authenticated.
class IncomingConnection {
public:
    using Match = std::function<std::shared_ptr<RecvRequest>(Rank from, MessageHead const& head)>;

    IncomingConnection(UniqueFd socket, Rank peer) : socket_(std::move(socket)), peer_(peer) {}

    int fd() const { return socket_.get(); }
    short events() const;
    bool is_blocked() const { return reader_.is_blocked(); }
    Rank peer() const { return peer_; }
    MessageWriter& messages() { return writer_; }
    MessageWriter const& messages() const { return writer_; }
    Progress write() { return writer_.advance(socket_); }
    /// Sends and receives messages. Does not block.
    Progress advance(Match const& match);

private:
    UniqueFd socket_;
    Rank peer_;
    MessageWriter writer_;
    MessageReader reader_;
};

}  // namespace det::transport::tcp
