#pragma once
#include <cstdint>
#include <random>

namespace det::search {

/// Determined's random numbers, which are those of numpy's RandomState: the same seed draws the same trials.
class Random {
public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}

    std::uint32_t bits32() { return static_cast<std::uint32_t>(engine_()); }
    /// Uniform in [0, limit], both included: words with the bits above the limit masked away, until one is
    /// not beyond it. A limit of more than 32 bits takes two words at a time, the upper half first; 0 takes
    /// none.
    std::uint64_t up_to(std::uint64_t limit);
    /// Uniform in [0, bound), bound > 0.
    std::uint64_t below(std::uint64_t bound) { return up_to(bound - 1); }
    /// Uniform in [0, 1) with 53 bits, of two words.
    double unit();

private:
    std::mt19937 engine_;  // seeded as numpy seeds it
};

}  // namespace det::search
