#pragma once
#include <det/foundation/result.hpp>

#include <cstdlib>
#include <fmt/format.h>
#include <random>
#include <string>

namespace det {

/// Returns an Error if `holds` is false. For checks in threads, where Boost.Test may not be called.
inline Status expect(bool holds, std::string what) {
    if (holds) return Ok{};
    return Error{codes::internal, "expected: " + std::move(what)};
}

/// A random seed for this run, or the value of DET_TEST_SEED to repeat a run.
inline std::uint32_t test_seed() {
    static std::uint32_t const seed = [] {
        auto const* text = std::getenv("DET_TEST_SEED");
        return text != nullptr ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10))
                               : std::random_device{}();
    }();
    return seed;
}

/// SplitMix64, which is cheap to construct for every rank and message.
class TestRandom {
public:
    using result_type = std::uint64_t;
    TestRandom(std::uint32_t seed, int stream)
        : state_((std::uint64_t{seed} << 32) + static_cast<std::uint32_t>(stream)) {}

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    result_type operator()() {
        auto mixed = state_ += 0x9e37'79b9'7f4a'7c15u;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58'476d'1ce4'e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d0'49bb'1331'11ebu;
        return mixed ^ (mixed >> 31);
    }

private:
    std::uint64_t state_;
};

inline Error&& with_seed(Error&& error, std::uint32_t seed) {
    return std::move(error).noting(fmt::format("DET_TEST_SEED={} repeats it", seed));
}

}  // namespace det
