#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace det::checkpoint {

/// Messages between two ranks, on connections of their own: a thread may use them while the program uses
/// Peers. core implements it with a transport.
///
/// Messages from one rank to another arrive in the order of the calls. Thread safety: one thread at a time.
class RankMessages {
public:
    struct Outgoing {
        int to = 0;
        std::span<std::byte const> bytes;
    };
    struct Incoming {
        int from = 0;
        std::span<std::byte> bytes;  // the message must have this size
    };

    virtual ~RankMessages() = default;
    /// Sends and receives at the same time, so that ranks that send to each other do not wait for each other.
    /// Either may be absent. Blocks until both are complete.
    /// \return codes::transport if a rank is lost, or if a message has another size
    virtual Status transfer(std::optional<Outgoing> out, std::optional<Incoming> in) = 0;
};

}  // namespace det::checkpoint
