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

/// Identifies a stream of messages between two ranks. Messages with the same tag are received in the order of
/// their sends. Messages with different tags can be received in any order.
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

/// A started send or receive. Each transport implements it. The destructor cancels an incomplete operation
/// or waits for it; after that the transport does not access its buffer. The exception is MPI after
/// Transport::abandon(): there the destructor does neither, and MPI may still access the buffer.
class Operation {
public:
    virtual ~Operation() = default;
    /// Makes progress. See Request::test().
    virtual Result<bool> test() = 0;
    /// Blocks until the operation is complete.
    /// \return the size of the message, also if it is larger than the buffer of the receive.
    virtual Result<std::size_t> wait() = 0;
};

/// A started send or receive. The caller must not access the buffer of a receive, or change that of a send,
/// until finish() has returned or the Request is destroyed. Not thread-safe.
class Request {
public:
    struct Route {
        Rank from;
        Rank to;
        Tag tag;
    };
    Request(std::unique_ptr<Operation> operation, Route route, std::size_t buffer_size, Fit fit)
        : operation_(std::move(operation)), route_(route), buffer_size_(buffer_size), fit_(fit) {}

    /// Makes progress. Does not wait for the peer; if the peer is lost, may block for half a second until the
    /// cause is known.
    /// \return whether finish() would return at once; codes::transport if the connection to the peer has
    ///     broken. Ranks that are threads return true in place of that error, and finish() reports it. Only
    ///     finish() detects a loss that only the RankMonitor reports. MPI does not detect a loss.
    Result<bool> test() { return operation_->test(); }
    /// Blocks until the operation is complete. Must be called at most once.
    /// \return the size of the message; codes::transport for a size mismatch or a lost rank; codes::timed_out
    ///     at the time limit of the transport's WaitPolicy.
    Result<std::size_t> finish();

private:
    std::unique_ptr<Operation> operation_;
    Route route_;
    std::size_t buffer_size_;
    Fit fit_;
};

/// Point-to-point messages between the ranks of a run. A new implementation overrides begin_send,
/// begin_receive and abandon, and must pass tests/conformance/transport_suite.
///
/// Not thread-safe: one thread at a time per Transport. Errors name the ranks. After a failed operation the
/// program must not use its tag again. Blocking calls wait without a time limit, unless the transport has a
/// WaitPolicy with one. All transports except MPI detect lost ranks.
class Transport {
public:
    virtual ~Transport() = default;
    Transport(Transport const&) = delete;
    Transport& operator=(Transport const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return size_; }
    /// The name of the implementation for messages, for example "UCX".
    virtual std::string_view name() const { return "messages"; }

    /// Sends a message. May block until the peer receives it.
    /// \param to another rank; sending to the own rank is codes::misuse
    /// \param tag at most tag_max
    /// \return codes::misuse for an invalid rank or tag, or after abandon(); codes::transport if a rank is
    ///     lost; codes::timed_out at the time limit
    Status send(Rank to, Tag tag, Bytes bytes);
    /// Receives a message. Blocks until it has arrived.
    /// \return the size of the message in bytes; codes::misuse for an invalid rank or tag, or after
    ///     abandon(); codes::transport for a message of the wrong size or a lost rank; codes::timed_out at
    ///     the time limit
    Result<std::size_t> receive(Rank from, Tag tag, MutableBytes into, Fit fit = Fit::exact);
    /// Sends and receives concurrently, so that ranks that exchange with each other do not deadlock. A rank
    /// may exchange with itself. Blocks until both operations are complete.
    /// \return the size of the received message in bytes; errors as for send() and receive()
    Result<std::size_t> exchange(Outgoing out, Incoming in, Tag tag);

    /// Starts a send or a receive and returns without waiting for the peer. The buffer must stay valid until
    /// the Request is finished or destroyed.
    /// \return codes::misuse for an invalid rank or tag, or after abandon(); codes::transport if the peer is
    ///     known to be lost, or if the transport can't start the operation
    Result<Request> start_send(Rank to, Tag tag, Bytes bytes);
    Result<Request> start_receive(Rank from, Tag tag, MutableBytes into, Fit fit = Fit::exact);

    /// After this call all finished sends arrive without further calls of this rank. A rank calls it before
    /// it stops using the transport for a long time, for example to compute. May block for a short time, or
    /// over TCP sockets until the replacements of cancelled messages are sent. The default does nothing:
    /// finished sends of threads always arrive, and MPI, which has no such call, delivers them by itself.
    /// \return codes::transport if a rank is lost; codes::timed_out at the time limit
    virtual Status flush() { return Ok{}; }

    /// To be called by a rank that fails alone: the destructor then skips collective shutdown (such as
    /// MPI_Finalize), so that this process can end without its peers. Later sends and receives fail with
    /// codes::misuse.
    virtual void abandon() noexcept = 0;

    /// Fails with codes::transport if the RankMonitor has already reported a lost rank; between threads, if a
    /// rank has left. Does not communicate. The default, which MPI uses, never fails.
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
