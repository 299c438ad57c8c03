#pragma once
#include <det/transport/transport.hpp>

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "socket.hpp"

namespace det::transport::tcp {

/// The header that precedes each message on a connection.
struct MessageHead {
    std::uint32_t tag = 0;
    std::uint32_t number =
        0;  // orders the messages of a sender to this peer, because they may arrive on two connections
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
/// yet.
struct RecvRequest {
    MutableBytes into = {};
    std::vector<std::byte> own = {};
    std::uint64_t size = 0;
    std::uint64_t done = 0;
    bool has_size = false;

    bool is_over() const { return has_size && done == size; }
    /// Sets the size of the message, and allocates `own` if the message does not fit into `into`.
    void begin(std::uint64_t message_size);
    std::byte* place() { return own.empty() ? into.data() : own.data(); }
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
    /// one.
    bool cancel(SendRequest const& request);
    /// Whether a replaced message has not been sent yet.
    bool has_cancelled() const;
    Progress advance(UniqueFd const& socket);

private:
    std::deque<std::shared_ptr<SendRequest>> requests_;
};

/// Receives the messages of a connection.
class MessageReader {
public:
    /// Returns the receive for the next message. nullptr: there is none yet, and the reader asks again later.
    using Place = std::function<std::shared_ptr<RecvRequest>(MessageHead const& head)>;

    /// Whether the next message has arrived but has no receive yet.
    bool is_blocked() const { return request_ == nullptr && buffered() >= sizeof(MessageHead); }
    /// Processes all buffered data and the data of one more recv(2).
    Progress advance(UniqueFd const& socket, Place const& place);

private:
    std::size_t buffered() const { return end_ - begin_; }
    bool begin_message(Place const& place);
    /// Takes the part of the message that was read together with its header.
    void take_buffered();
    ssize_t read(UniqueFd const& socket);

    std::array<std::byte, 1024> buffer_{};  // for one recv(2) of a small message together with its head
    std::size_t begin_ = 0, end_ = 0;
    std::shared_ptr<RecvRequest> request_;
};

}  // namespace det::transport::tcp
