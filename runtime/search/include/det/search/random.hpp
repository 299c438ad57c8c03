#pragma once
#include <cstdint>
#include <random>

namespace det::search {

/// Determined's random numbers, which are those of numpy's RandomState: the same seed draws the same trials.
class Random {
public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}

    std::uint32_t bits32() { return static_cast<std::uint32_t>(engine_()); }
    /// Uniform in [0, bound), bound > 0: words with the bits above the bound masked away, until one is below
    /// it.
    std::uint32_t below(std::uint64_t bound);

private:
    std::mt19937 engine_;  // seeded as numpy seeds it
};

}  // namespace det::search
