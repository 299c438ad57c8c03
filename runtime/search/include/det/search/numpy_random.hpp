#pragma once
#include <cstdint>
#include <random>

namespace det::search {

/// The random numbers of numpy's RandomState, as in Determined, so that the same seed draws the same trials.
class NumpyRandom {
public:
    explicit NumpyRandom(std::uint32_t seed) : engine_(seed) {}

    std::uint32_t bits32() { return static_cast<std::uint32_t>(engine_()); }
    /// Uniform in [0, limit]. Draws a word of 32 bits, clears the bits above the highest bit of the limit,
    /// and repeats while the value exceeds the limit. A limit of more than 32 bits takes two words per draw,
    /// the upper half first. A limit of 0 takes no word.
    std::uint64_t at_most(std::uint64_t limit);
    /// Uniform in [0, bound), bound > 0.
    std::uint64_t below(std::uint64_t bound) { return at_most(bound - 1); }
    /// Uniform in [0, 1) with 53 bits from two words.
    double unit();

private:
    std::mt19937 engine_;  // seeded as numpy seeds it
};

}  // namespace det::search
