#pragma once
#include <chrono>
#include <cstdint>
#include <thread>
#ifdef __SSE2__
#include <x86intrin.h>
#endif

// This file includes no other module, because benchmarks compile it into programs of other MPIs.
namespace det::measure {

/// A clock that reads the time-stamp counter on x86, because reading the system clock takes as long as a
/// small operation. On other processors it is the steady clock.
class Ticks {
public:
    using Count = std::uint64_t;
    static Count now() {
#ifdef __SSE2__
        unsigned int core = 0;
        return __rdtscp(&core);
#else
        return static_cast<Count>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
    }
    /// Returns the seconds per tick. The first call measures this for 50 ms.
    static double calibrate_seconds_per_tick() {
        static double const value = [] {
            auto const begin = std::chrono::steady_clock::now();
            auto const first = now();
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
            return took.count() / static_cast<double>(now() - first);
        }();
        return value;
    }
};

/// Returns the number of warm-up iterations, which are not measured.
constexpr std::uint32_t warm_up_iterations(std::uint32_t iterations) { return iterations / 10 + 1; }

/// Returns the mean time of `operation()` in seconds. Before each iteration, `prepare(i)` writes the input
/// again, because input that is unchanged and cached would hide the cost of reading it, and `barrier()`
/// synchronises the ranks. Neither is measured. i counts from 0 and includes the warm-up.
template <class Prepare, class Barrier, class Operation>
double measure_mean_seconds(std::uint32_t iterations, Prepare prepare, Barrier barrier, Operation operation) {
    Ticks::Count total = 0;
    auto const warm_up = warm_up_iterations(iterations);
    for (std::uint32_t i = 0; i < iterations + warm_up; ++i) {
        prepare(i);
        barrier();
        auto const begin = Ticks::now();
        operation();
        auto const end = Ticks::now();
        if (i >= warm_up) total += end - begin;
    }
    return static_cast<double>(total) * Ticks::calibrate_seconds_per_tick() / iterations;
}

}  // namespace det::measure
