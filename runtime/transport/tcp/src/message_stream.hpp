#pragma once
#include <det/transport/transport.hpp>

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "socket.hpp"

namespace det::transport::tcp {

/// Ahead of each message on a connection.
struct MessageHead {
    std::uint32_t tag = 0;
    std::uint32_t number =
        0;  // among all that its sender has for this peer: they may come on two connections
    std::uint64_t size = 0;
};
static_assert(sizeof(MessageHead) == 16);
/// Of a message without bytes for nobody, in place of one that was taken back.
inline constexpr std::uint32_t cancelled_tag = ~std::uint32_t{0};

/// A message that leaves: the bytes are its sender's until it is over.
struct SendRequest {
    MessageHead head;
    Bytes bytes;
    std::size_t done = 0;  // of head and bytes

    bool is_over() const { return done == sizeof head + bytes.size(); }
    bool has_begun() const { return done != 0; }
};

/// A message that comes: into the buffer of who asked for it, or into a place of its own where nobody has
/// yet.
struct RecvRequest {
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

/// What a outgoing_to that never blocks came to.
Progress progress_of(ssize_t result);
/// Of two that were made on the same connection.
Progress both(Progress a, Progress b);

/// Messages that leave by a connection, one behind the other.
class MessageWriter {
public:
    bool is_idle() const { return requests_.empty(); }
    void add(std::shared_ptr<SendRequest> request) { requests_.push_back(std::move(request)); }
    /// False: it is not here. Of one that has not begun, its place remains.
    bool cancel(SendRequest const& request);
    /// Whether such a place has still to be passed on.
    bool has_cancelled() const;
    Progress advance(UniqueFd const& socket);

private:
    std::deque<std::shared_ptr<SendRequest>> requests_;
};

/// Messages that come by a connection.
class MessageReader {
public:
    /// Where the next message goes. None: nowhere yet, it is asked again.
    using Place = std::function<std::shared_ptr<RecvRequest>(MessageHead const& head)>;

    /// There is a message for which there is no place yet.
    bool is_blocked() const { return request_ == nullptr && buffered() >= sizeof(MessageHead); }
    /// All that has been read, and what one more outgoing_to brings.
    Progress advance(UniqueFd const& socket, Place const& place);

private:
    std::size_t buffered() const { return end_ - begin_; }
    bool begin_message(Place const& place);
    /// What of the message that comes was read with its head.
    void take_buffered();
    ssize_t read(UniqueFd const& socket);

    std::array<std::byte, 1024> buffer_{};  // a small message comes with its head
    std::size_t begin_ = 0, end_ = 0;
    std::shared_ptr<RecvRequest> request_;
};

}  // namespace det::transport::tcp
