#pragma once
#include <det/transport/transport.hpp>

#include <vector>

namespace det::transport {

struct LocalOptions {
    /// Up to this size a send returns at once, as messages of MPI do; above, it waits for its receiver. Code
    /// that works with 0 does not lean on buffering.
    std::size_t eager_limit_bytes = 4096;
};

/// The ranks of a run as threads of one process: one Transport for each. Whoever waits for a rank whose
/// Transport was destroyed or abandoned gets an error.
std::vector<std::unique_ptr<Transport>> make_local_group(int size, LocalOptions options = {});

}  // namespace det::transport
