#pragma once
#include <optional>

#include "handshake.hpp"
#include "messages.hpp"

namespace det::transport::tcp {

// Both ends of a connection prove that they belong to the run, in non-blocking steps. After that both ends
// send messages.

/// A connection that this rank has made to a peer.
class OutgoingConnection {
public:
    static Result<OutgoingConnection> begin(Endpoint const& peer, SessionKey const& key, Rank self);

    int fd() const { return socket_.get(); }
    /// The events for poll(2).
    short events() const;
    bool is_idle() const { return state_ == State::open && unsent_.empty() && writer_.is_idle(); }
    bool is_blocked() const { return reader_.is_blocked(); }
    MessageWriter& messages() { return writer_; }
    MessageWriter const& messages() const { return writer_; }
    /// Sends queued messages. Does nothing while the handshake is not complete.
    Progress write();
    /// Advances the handshake, or sends and receives messages. Does not block.
    Progress advance(MessageReader::Match const& match);

private:
    enum class State { awaiting_greeting, awaiting_verdict, open };
    OutgoingConnection(UniqueFd socket, SessionKey key, Rank self)
        : socket_(std::move(socket)), key_(std::move(key)), self_(self) {}

    Progress read_reply();
    Progress answer_greeting();

    UniqueFd socket_;
    SessionKey key_;
    Rank self_;
    State state_ = State::awaiting_greeting;
    std::string received_;
    std::string unsent_;
    std::string server_nonce_;
    std::string answer_;
    MessageWriter writer_;
    MessageReader reader_;
};

/// A connection that this rank has accepted.
class IncomingConnection {
public:
    using Match = std::function<std::shared_ptr<RecvRequest>(Rank from, MessageHead const& head)>;

    IncomingConnection(UniqueFd socket, TimePoint answer_until);

    int fd() const { return socket_.get(); }
    short events() const;
    bool is_blocked() const { return reader_.is_blocked(); }
    std::optional<Rank> peer() const { return peer_; }
    /// Whether the handshake is complete, so that messages can be sent.
    bool is_open() const { return peer_ && unsent_.empty(); }
    MessageWriter& messages() { return writer_; }
    MessageWriter const& messages() const { return writer_; }
    Progress write() { return writer_.advance(socket_); }
    TimePoint answer_until() const { return answer_until_; }
    /// Advances the handshake, or sends and receives messages. Does not block. Progress::broken if the
    /// client's proof is wrong or `may_join` refuses its rank.
    Progress advance(SessionKey const& key, std::function<bool(Rank)> const& may_join, Match const& match);

private:
    Progress read_answer(SessionKey const& key, std::function<bool(Rank)> const& may_join);

    UniqueFd socket_;
    TimePoint answer_until_;
    std::string nonce_;
    std::string unsent_;
    std::string received_;
    std::optional<Rank> peer_;
    MessageWriter writer_;
    MessageReader reader_;
};

}  // namespace det::transport::tcp
