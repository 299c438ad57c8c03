#pragma once
#include <det/transport/transport.hpp>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "socket.hpp"

namespace det::transport::tcp {

/// The header that precedes each message on a connection.
struct MessageHead {
    std::uint32_t tag = 0;
    /// Orders the messages of a sender to this peer, because they may arrive on two connections.
    std::uint32_t number = 0;
    std::uint64_t size = 0;
};
static_assert(sizeof(MessageHead) == 16);
/// The tag of an empty message that replaces a cancelled one.
inline constexpr std::uint32_t cancelled_tag = ~std::uint32_t{0};

/// A message that is being sent. Does not own the bytes, which must stay valid until it is over.
struct SendRequest {
    MessageHead head;
    Bytes bytes;
    std::size_t done = 0;  // number of sent bytes of head and `bytes` together

    bool is_over() const { return done == sizeof head + bytes.size(); }
    bool has_begun() const { return done != 0; }
};

/// A message that is being received: into the buffer of its receive, or into `own` if no receive is posted
/// yet, if the message is larger than the buffer, or if the receive was cancelled.
struct RecvRequest {
    MutableBytes into = {};
    std::vector<std::byte> own = {};
    std::uint64_t size = 0;
    std::uint64_t done = 0;
    bool has_size = false;

    bool is_over() const { return has_size && done == size; }
    /// Sets the size of the message, and allocates `own` if the message does not fit into `into`.
    void begin(std::uint64_t message_size);
    std::byte* data() { return own.empty() ? into.data() : own.data(); }
};

enum class Progress { nothing, something, broken };

/// Converts the result of a non-blocking send(2) or recv(2).
Progress progress_of(ssize_t result);
/// Combines the progress of two calls on the same connection.
Progress both(Progress a, Progress b);

/// Sends messages on a connection one after the other.
class MessageWriter {
public:
    bool is_idle() const { return requests_.empty(); }
    void add(std::shared_ptr<SendRequest> request) { requests_.push_back(std::move(request)); }
    /// Cancels a send. Returns false if it is not in the queue. An unstarted message is replaced by an empty
    /// one. A message that has begun stays in the queue: the caller must close the connection.
    bool cancel(SendRequest const& request);
    /// Whether an empty message that replaces a cancelled one has not been sent yet.
    bool has_cancelled() const;
    Progress advance(UniqueFd const& socket);

private:
    std::deque<std::shared_ptr<SendRequest>> requests_;
};

/// Receives the messages of a connection.
class MessageReader {
public:
    /// Returns the receive for the next message. nullptr: there is none yet, and the reader asks again later.
    using Match = std::function<std::shared_ptr<RecvRequest>(MessageHead const& head)>;

    /// Whether the next message has arrived but has no receive yet.
    bool is_blocked() const { return request_ == nullptr && buffered() >= sizeof(MessageHead); }
    /// Processes all buffered data and the data of one more recv(2). Stops when it is blocked.
    Progress advance(UniqueFd const& socket, Match const& match);

private:
    std::size_t buffered() const { return end_ - begin_; }
    bool begin_message(Match const& match);
    /// Takes the part of the message that was read together with its header.
    void take_buffered();
    ssize_t read(UniqueFd const& socket);

    std::array<std::byte, 1024> buffer_{};  // for one recv(2) of a small message together with its head
    std::size_t begin_ = 0, end_ = 0;
    std::shared_ptr<RecvRequest> request_;
};

/// Matches arriving messages with posted receives, in order for each peer and tag.
class Mailbox {
public:
    /// \param size the number of ranks.
    /// \param unexpected_limit_bytes limit per peer for messages without a posted receive: see match().
    Mailbox(Rank own, std::size_t size, std::size_t unexpected_limit_bytes)
        : own_(own), unexpected_limit_bytes_(unexpected_limit_bytes), peers_(size) {}

    /// Returns the posted receive for an arriving message, or a new one that buffers it. Returns nullptr if
    /// the buffered messages of the peer would exceed the limit. There is no limit for this rank's messages
    /// to itself, nor while a receive from the peer is posted, whose message may arrive behind this message.
    std::shared_ptr<RecvRequest> match(Rank from, MessageHead const& head);
    /// Posts a receive. Its message may have arrived already.
    std::shared_ptr<RecvRequest> post_receive(Rank from, Tag tag, MutableBytes into);
    void send_to_self(Tag tag, Bytes bytes);
    /// Cancels a receive. Data that still arrives for it is discarded, and the buffer is no longer used.
    void cancel(Rank from, Tag tag, std::shared_ptr<RecvRequest> const& request);

private:
    struct MatchQueue {
        std::deque<std::shared_ptr<RecvRequest>> posted;
        std::deque<std::shared_ptr<RecvRequest>> unexpected;
    };
    using MatchKey = std::pair<int, std::uint32_t>;  // peer and tag
    struct Peer {
        std::uint64_t unexpected_bytes = 0;  // of its messages without a posted receive
        int posted = 0;                      // number of posted receives without a message
    };

    bool may_buffer(Rank from, std::uint64_t size_bytes) const;
    Peer& at(Rank peer) { return peers_[static_cast<std::size_t>(peer.value)]; }
    Peer const& at(Rank peer) const { return peers_[static_cast<std::size_t>(peer.value)]; }

    Rank own_;
    std::size_t unexpected_limit_bytes_;
    std::vector<Peer> peers_;  // by rank
    std::map<MatchKey, MatchQueue> queues_;
};

}  // namespace det::transport::tcp
