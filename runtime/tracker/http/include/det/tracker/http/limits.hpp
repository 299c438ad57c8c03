#pragma once
#include <det/liveness/pending_connections.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace det::tracker::http {

/// What a server accepts of its clients.
struct Limits {
    std::uint32_t header_bytes = 8192;  // of the request line and all headers together
    std::uint64_t body_bytes = 65536;
    std::size_t connections = 400;  // of the owner; below the usual limit of 1,024 open files
    /// TCP connections without a request of the owner yet. A browser opens up to six.
    liveness::PendingLimits pending = {.connections = 96};
    std::chrono::milliseconds request_time = std::chrono::seconds(10);   // from its first byte to its last
    std::chrono::milliseconds idle_time = std::chrono::seconds(60);      // between requests of a connection
    std::chrono::milliseconds response_time = std::chrono::seconds(60);  // to take a response
    std::chrono::milliseconds deferred_time =
        std::chrono::minutes(5);  // until a handler, deferred or not, has answered; then status 504
};

}  // namespace det::tracker::http
