#pragma once
#include <det/transport/bootstrap.hpp>

#include <span>
#include <string_view>

namespace det::transport {

/// Test cases for every implementation of Bootstrap. All ranks run a case together, each with its own
/// Bootstrap. Several cases may run with the same Bootstrap, so each case uses different keys.
struct BootstrapCase {
    std::string_view name;
    Status (*run)(Bootstrap& bootstrap);
};

std::span<BootstrapCase const> bootstrap_cases();

}  // namespace det::transport
