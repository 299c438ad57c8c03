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

enum class Progress { nothing, something, broken };

// Who calls and who answers show each other that they belong to the run, a step at a time: nobody waits for
// anybody. What comes of it is a Wire.

class Caller {
public:
    enum class Outcome { none_yet, welcome, taken };

    static Result<Caller> begin(Endpoint const& peer, Club const& club, Rank self);

    int fd() const { return socket_.get(); }
    /// What to wait for, as poll(2) says it.
    short events() const;
    Progress advance();
    Outcome outcome() const { return outcome_; }
    UniqueFd take_socket() { return std::move(socket_); }

private:
    Caller(UniqueFd socket, Club club, Rank self)
        : socket_(std::move(socket)), club_(std::move(club)), self_(self) {}

    Progress answer_greeting();
    Progress take_verdict();

    UniqueFd socket_;
    Club club_;
    Rank self_;
    Outcome outcome_ = Outcome::none_yet;
    std::string received_;
    std::string to_say_;
    std::string server_nonce_;
    std::string answer_;  // none: the greeting is awaited
};

class Answerer {
public:
    Answerer(UniqueFd socket, Moment answer_until);

    int fd() const { return socket_.get(); }
    short events() const;
    Moment answer_until() const { return answer_until_; }
    Progress advance(Club const& club);
    /// Who called, once that is proven.
    std::optional<Rank> peer() const { return peer_; }
    std::string verdict(Club const& club, Admission admission) const;
    UniqueFd take_socket() { return std::move(socket_); }

private:
    UniqueFd socket_;
    Moment answer_until_;
    std::string nonce_;
    std::string to_say_;
    std::string received_;
    std::optional<Rank> peer_;
};

/// What goes to a peer and comes from it. One connection serves both: what one side says then tells the other
/// that its own words have arrived, which TCP has to say in packets of its own otherwise.
class Wire {
public:
    /// Where the next message goes. None: nowhere yet, it is asked again.
    using Place = std::function<std::shared_ptr<Arrival>(MessageHead const& head)>;

    bool is_open() const { return static_cast<bool>(socket_); }
    /// `preamble` is said before any message.
    void open(UniqueFd socket, std::string preamble);
    void close() { socket_.reset(); }

    /// For poll(2), which passes over what is negative.
    int fd() const { return events() == 0 ? -1 : socket_.get(); }
    short events() const;
    bool has_to_say() const { return is_open() && (!preamble_.empty() || !departures_.empty()); }

    void add(std::shared_ptr<Departure> departure) { departures_.push_back(std::move(departure)); }
    /// False: a part of it is on its way already.
    bool take_back(Departure const& departure);
    Progress write();
    Progress read(Place const& place);

private:
    /// There is a message for which there is no place yet.
    bool is_held_up() const { return head_done_ == sizeof head_; }
    Progress read_head(Place const& place);

    UniqueFd socket_;
    std::string preamble_;
    std::deque<std::shared_ptr<Departure>> departures_;
    MessageHead head_;
    std::size_t head_done_ = 0;
    std::shared_ptr<Arrival> arrival_;
};

}  // namespace det::transport
