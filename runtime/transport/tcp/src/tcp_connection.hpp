#pragma once
#include <det/transport/transport.hpp>

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "handshake.hpp"
#include "socket.hpp"

namespace det::transport {

/// Ahead of each message on a connection.
struct MessageHead {
    std::uint32_t tag = 0;
    std::uint32_t reserved = 0;
    std::uint64_t size = 0;
};
static_assert(sizeof(MessageHead) == 16);

/// A message that leaves: the bytes are its sender's until it is over.
struct Departure {
    MessageHead head;
    Bytes bytes;
    std::size_t done = 0;  // of head and bytes

    bool is_over() const { return done == sizeof head + bytes.size(); }
    bool has_begun() const { return done != 0; }
};

/// A message that comes: into the buffer of who asked for it, or into a place of its own where nobody has
/// yet.
struct Arrival {
    MutableBytes into = {};
    std::vector<std::byte> own = {};
    std::uint64_t size = 0;
    std::uint64_t done = 0;
    bool has_size = false;

    bool is_over() const { return has_size && done == size; }
    /// The message has this size: it goes into `into`, or where that has no room into `own`.
    void begin(std::uint64_t message_size);
    std::byte* place() { return own.empty() ? into.data() : own.data(); }
};

/// Who calls and who answers show each other that they belong to the run, a step at a time: nobody waits for
/// anybody.
enum class Progress { nothing, something, broken };

/// The side of a connection that sends: ours to a peer.
class OutgoingConnection {
public:
    static Result<OutgoingConnection> begin(Endpoint const& peer, Club const& club, Rank self);

    int fd() const { return socket_.get(); }
    /// What to wait for, as poll(2) says it.
    short events() const;
    void add(std::shared_ptr<Departure> departure) { departures_.push_back(std::move(departure)); }
    bool is_idle() const { return state_ == State::open && to_say_.empty() && departures_.empty(); }
    /// False: a part of it is on its way already.
    bool take_back(Departure const& departure);
    Progress advance();

private:
    enum class State { awaiting_greeting, awaiting_verdict, open };
    OutgoingConnection(UniqueFd socket, Club club, Rank self)
        : socket_(std::move(socket)), club_(std::move(club)), self_(self) {}

    Progress read_reply();
    Progress answer_greeting();
    Progress write_departures();

    UniqueFd socket_;
    Club club_;
    Rank self_;
    State state_ = State::awaiting_greeting;
    std::string received_;
    std::string to_say_;
    std::string server_nonce_;
    std::string answer_;
    std::deque<std::shared_ptr<Departure>> departures_;
};

/// The side that receives: a peer's to us.
class IncomingConnection {
public:
    /// Where the next message goes. None: nowhere yet, it is asked again.
    using Place = std::function<std::shared_ptr<Arrival>(Rank from, MessageHead const& head)>;

    IncomingConnection(UniqueFd socket, Moment answer_until);

    int fd() const { return socket_.get(); }
    short events() const;
    /// There is a message for which there is no place yet.
    bool is_held_up() const { return head_done_ == sizeof head_; }
    std::optional<Rank> peer() const { return peer_; }
    Moment answer_until() const { return answer_until_; }
    Progress advance(Club const& club, std::function<bool(Rank)> const& may_join, Place const& place);

private:
    Progress read_answer(Club const& club, std::function<bool(Rank)> const& may_join);
    Progress read_messages(Place const& place);
    Progress say();

    UniqueFd socket_;
    Moment answer_until_;
    std::string nonce_;
    std::string to_say_;
    std::string received_;
    std::optional<Rank> peer_;
    MessageHead head_;
    std::size_t head_done_ = 0;
    std::shared_ptr<Arrival> arrival_;
};

}  // namespace det::transport
