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

/// Which of the conversations between two ranks a message belongs to. Messages of one tag arrive in the order
/// in which they were sent; those of different tags do not wait for each other.
struct Tag {
    std::uint32_t value = 0;
    friend bool operator==(Tag const&, Tag const&) = default;
};
inline constexpr std::uint32_t tag_max = (1u << 23) - 1;  // Open MPI over UCX has no larger ones

/// Whether a message must fill its buffer. One that is too long for it is an error in both cases.
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

/// What an implementation makes of a message on its way. Destroying one that is not over cancels it or waits
/// for it: afterwards nobody touches its buffer.
class Operation {
public:
    virtual ~Operation() = default;
    virtual Result<bool> test() = 0;
    /// The size of the message; of one that was cut, its whole size where that is known.
    virtual Result<std::size_t> wait() = 0;
};

/// A message on its way, in the hands of who started it. The buffer stays untouched until finish() returns.
class Request {
public:
    struct Route {
        Rank from;
        Rank to;
        Tag tag;
    };
    Request(std::unique_ptr<Operation> operation, Route route, std::size_t buffer_size, Fit fit)
        : operation_(std::move(operation)), route_(route), buffer_size_(buffer_size), fit_(fit) {}

    /// Whether finish() would return at once.
    Result<bool> test() { return operation_->test(); }
    /// The size of the message. To be called once.
    Result<std::size_t> finish();

private:
    std::unique_ptr<Operation> operation_;
    Route route_;
    std::size_t buffer_size_;
    Fit fit_;
};

/// Messages between the ranks of a run. A new one implements begin_send and begin_receive and passes the
/// suite in tests/conformance/transport_suite.
///
/// Threads: one at a time per Transport. Errors name the ranks; after one, the tag it came from is not used
/// again.
class Transport {
public:
    virtual ~Transport() = default;
    Transport(Transport const&) = delete;
    Transport& operator=(Transport const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return size_; }
    /// What carries the messages, for people: "UCX".
    virtual std::string_view name() const { return "messages"; }

    /// May wait until the peer receives, and so must not be relied on to return before.
    Status send(Rank to, Tag tag, Bytes bytes);
    /// The size of the message.
    Result<std::size_t> receive(Rank from, Tag tag, MutableBytes into, Fit fit = Fit::exact);
    /// Both at once: never waits for itself, whatever the ranks and sizes. The size of the message received.
    Result<std::size_t> exchange(Outgoing out, Incoming in, Tag tag);

    Result<Request> start_send(Rank to, Tag tag, Bytes bytes);
    Result<Request> start_receive(Rank from, Tag tag, MutableBytes into, Fit fit = Fit::exact);

    /// What was sent, and finished here, arrives from now on without another call of this rank. To be called
    /// before it turns to something else: it may not call this transport for hours.
    virtual Status flush() { return Ok{}; }

    /// Leaves without the others: for a rank that fails alone while its peers may wait for it. What is closed
    /// in common otherwise (MPI_Finalize) is then left out, so that this process can end.
    virtual void abandon() noexcept = 0;

    /// An Error where it is known, without asking anybody, that a rank was lost.
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
