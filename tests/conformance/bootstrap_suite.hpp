#pragma once
#include <det/transport/bootstrap.hpp>

#include <span>
#include <string_view>

namespace det::transport {

/// What every Bootstrap has to do. All ranks run a case together, each with its own; one after the other on
/// the same, so that each case has keys of its own.
struct BootstrapCase {
    std::string_view name;
    Status (*run)(Bootstrap& bootstrap);
};

std::span<BootstrapCase const> bootstrap_cases();

}  // namespace det::transport
