#include <det/telemetry/span.hpp>

#include <deque>
#include <mutex>
#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace det::telemetry {
namespace {

bool find_constant_tsc() {
#ifdef __x86_64__
    constexpr unsigned power_management = 0x80000007, invariant_tsc = 1U << 8;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(power_management, &a, &b, &c, &d) != 0 && (d & invariant_tsc) != 0;
#else
    return false;
#endif
}

/// Both clocks at one time.
struct ClockPair {
    std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
    std::uint64_t ticks = now_ticks();
};

struct Registry {
    std::mutex mutex;
    std::deque<Timing> timings;  // elements keep their addresses
};

/// Never destroyed: threads may end spans while the process ends.
Registry& registry() {
    static auto& only = *new Registry;
    return only;
}

}  // namespace

bool const has_constant_tsc = find_constant_tsc();

namespace {
ClockPair const at_start;
}

double measure_ticks_per_second() {
    if (!has_constant_tsc) return 1e9;
    constexpr std::chrono::milliseconds measured_min{1};
    ClockPair now;
    while (now.time - at_start.time < measured_min) now = ClockPair();
    return static_cast<double>(now.ticks - at_start.ticks) /
           std::chrono::duration<double>(now.time - at_start.time).count();
}

Timing& timing(std::string_view name) {
    auto& all = registry();
    std::scoped_lock const lock(all.mutex);
    for (auto& each : all.timings) {
        if (each.name() == name) return each;
    }
    if (all.timings.size() < timings_max) return all.timings.emplace_back(std::string(name));
    if (all.timings.size() == timings_max) all.timings.emplace_back("others");
    return all.timings.back();
}

std::vector<TimingReport> take_timings() {
    double const rate = measure_ticks_per_second();
    auto& all = registry();
    std::vector<TimingReport> reports;
    std::scoped_lock const lock(all.mutex);
    for (auto& each : all.timings) {
        auto const sums = each.take();
        if (sums.count == 0) continue;
        reports.push_back({each.name(), sums.count, static_cast<double>(sums.total_ticks) / rate,
                           static_cast<double>(sums.max_ticks) / rate});
    }
    return reports;
}

}  // namespace det::telemetry
