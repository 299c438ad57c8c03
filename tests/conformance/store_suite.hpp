#pragma once
#include <det/checkpoint/store.hpp>

#include <span>
#include <string_view>

namespace det::checkpoint {

/// What every Store has to do. Cases may run one after the other on the same.
struct StoreCase {
    std::string_view name;
    Status (*run)(Store& store);
};

std::span<StoreCase const> store_cases();

}  // namespace det::checkpoint
