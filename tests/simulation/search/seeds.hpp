#pragma once
#include <det/foundation/text.hpp>

#include <cstdint>
#include <cstdlib>

namespace det::simulation {

/// Which seeds a test simulates: DET_SIMULATION_SEEDS of them, from DET_SIMULATION_SEED on.
struct Seeds {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

inline Seeds chosen_seeds(std::uint32_t begin, std::uint32_t count) {
    auto const number = [](char const* name, std::uint32_t otherwise) {
        auto const* const text = std::getenv(name);
        return text == nullptr ? otherwise : parse_integer<std::uint32_t>(text).value_or(otherwise);
    };
    auto const first = number("DET_SIMULATION_SEED", begin);
    return {first, first + number("DET_SIMULATION_SEEDS", count)};
}

}  // namespace det::simulation
