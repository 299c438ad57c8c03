#pragma once
#include <det/transport/transport.hpp>

#include <vector>

namespace det::transport {

struct ThreadTransportOptions {
    /// Up to this size a send is buffered and returns at once, as in MPI; larger sends wait for the receiver.
    /// Code that works with 0 relies on buffering for empty messages at most.
    std::size_t eager_limit_bytes = 4096;
};

/// Makes one Transport per rank for ranks that are threads of one process. Waiting for a rank whose Transport
/// was destroyed or abandoned is an error. Messages that such a rank had sent before can still be received.
/// \return the transports in rank order
std::vector<std::unique_ptr<Transport>> make_thread_transports(int size, ThreadTransportOptions options = {});

}  // namespace det::transport
