#pragma once
#include <det/transport/transport.hpp>

#include <span>
#include <string_view>

namespace det::transport {

/// Test cases for every implementation of Transport. All ranks run a case together, each with its own
/// Transport. A case returns its failure, because Boost.Test may not be called from several threads.
struct TransportCase {
    std::string_view name;
    Status (*run)(Transport& transport);
};

std::span<TransportCase const> transport_cases();

}  // namespace det::transport
