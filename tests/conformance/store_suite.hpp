#pragma once
#include <det/checkpoint/store.hpp>

#include <span>
#include <string_view>

namespace det::checkpoint {

/// Test cases for every implementation of Store. Several cases may run with the same store.
struct StoreCase {
    std::string_view name;
    Status (*run)(Store& store);
};

std::span<StoreCase const> store_cases();

}  // namespace det::checkpoint
