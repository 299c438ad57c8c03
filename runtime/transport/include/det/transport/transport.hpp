#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace det::transport {

using Bytes = std::span<std::byte const>;
using MutableBytes = std::span<std::byte>;

/// Identifies a stream of messages between two ranks. Messages with the same tag arrive in the order of their
/// sends. Messages with different tags do not wait for each other.
struct Tag {
    std::uint32_t value = 0;
    friend bool operator==(Tag const&, Tag const&) = default;
};
inline constexpr std::uint32_t tag_max = (1u << 23) - 1;  // the limit of Open MPI over UCX

/// exact: the message must fill the buffer. at_most: it may be shorter. A longer message is always an error.
enum class Fit { exact, at_most };

struct Outgoing {
    Rank to;
    Bytes bytes;
};

struct Incoming {
    Rank from;
    MutableBytes bytes;
    Fit fit = Fit::exact;
};

/// A started send or receive. Implemented by each transport. The destructor cancels an incomplete operation
/// or waits for it; after that the transport does not access its buffer.
class Operation {
public:
    virtual ~Operation() = default;
    virtual Result<bool> test() = 0;
    /// Blocks until it is complete.
    /// \return the size of the message; for a truncated message its full size if it is known.
    virtual Result<std::size_t> wait() = 0;
};

/// A started send or receive. The caller must not access the buffer until finish() returns. Not thread-safe.
class Request {
public:
    struct Route {
        Rank from;
        Rank to;
        Tag tag;
    };
    Request(std::unique_ptr<Operation> operation, Route route, std::size_t buffer_size, Fit fit)
        : operation_(std::move(operation)), route_(route), buffer_size_(buffer_size), fit_(fit) {}

    /// Makes progress without blocking. Returns whether the operation is complete.
    Result<bool> test() { return operation_->test(); }
    /// Blocks until the operation is complete. Must be called at most once.
    /// \return the size of the message; codes::transport for a size mismatch or a lost rank.
    Result<std::size_t> finish();

private:
    std::unique_ptr<Operation> operation_;
    Route route_;
    std::size_t buffer_size_;
    Fit fit_;
};

/// Point-to-point messages between the ranks of a run. A new implementation overrides begin_send and
/// begin_receive and must pass tests/conformance/transport_suite.
///
/// Not thread-safe: one thread at a time per Transport. Errors name the ranks. After an error its tag must
/// not be used again.
class Transport {
public:
    virtual ~Transport() = default;
    Transport(Transport const&) = delete;
    Transport& operator=(Transport const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return size_; }
    /// The name of the implementation for messages: "UCX".
    virtual std::string_view name() const { return "messages"; }

    /// Sends a message. May block until the peer receives it.
    Status send(Rank to, Tag tag, Bytes bytes);
    /// Receives a message and returns its size. Blocks until it has arrived.
    Result<std::size_t> receive(Rank from, Tag tag, MutableBytes into, Fit fit = Fit::exact);
    /// Sends and receives concurrently, so that it never deadlocks. Returns the size of the received message.
    Result<std::size_t> exchange(Outgoing out, Incoming in, Tag tag);

    // Non-blocking forms. The buffer must stay valid until the Request is finished or destroyed.

    Result<Request> start_send(Rank to, Tag tag, Bytes bytes);
    Result<Request> start_receive(Rank from, Tag tag, MutableBytes into, Fit fit = Fit::exact);

    /// After this call all finished sends arrive without further calls of this rank. Call it before the rank
    /// stops using the transport, perhaps for hours.
    virtual Status flush() { return Ok{}; }

    /// For a rank that fails alone: the destructor then skips collective shutdown (such as MPI_Finalize), so
    /// that this process can end without its peers.
    virtual void abandon() noexcept = 0;

    /// Fails if a lost rank has been detected already. Does not communicate.
    virtual Status check_ranks() const { return Ok{}; }

protected:
    Transport(Rank rank, int size) : rank_(rank), size_(size) {}

private:
    virtual Result<std::unique_ptr<Operation>> begin_send(Rank to, Tag tag, Bytes bytes) = 0;
    virtual Result<std::unique_ptr<Operation>> begin_receive(Rank from, Tag tag, MutableBytes into) = 0;

    Rank rank_;
    int size_;
};

}  // namespace det::transport
