#include "cache_probe.hpp"

#include <atomic>
#include <chrono>
#include <sched.h>
#include <thread>

namespace det::bench {
namespace {

struct alignas(128) Flag {
    std::atomic<int> value{0};
};

void bind_to(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

double cache_round_trip_ns() {
    constexpr int rounds = 3000, warm_up = 300;
    Flag there, back;
    cpu_set_t before;
    ::sched_getaffinity(0, sizeof before, &before);
    std::thread other([&] {
        bind_to(1);
        for (int i = 1; i <= rounds; ++i) {
            while (there.value.load(std::memory_order_acquire) < i) {
            }
            back.value.store(i, std::memory_order_release);
        }
    });
    bind_to(0);
    auto begin = std::chrono::steady_clock::now();
    for (int i = 1; i <= rounds; ++i) {
        if (i == warm_up) begin = std::chrono::steady_clock::now();
        there.value.store(i, std::memory_order_release);
        while (back.value.load(std::memory_order_acquire) < i) {
        }
    }
    std::chrono::duration<double, std::nano> const took = std::chrono::steady_clock::now() - begin;
    other.join();
    ::sched_setaffinity(0, sizeof before, &before);
    return took.count() / (rounds - warm_up);
}

}  // namespace det::bench
