#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace det::telemetry {

/// Whether this processor has a time-stamp counter of constant rate. Otherwise ticks are nanoseconds of the
/// steady clock.
extern bool const has_constant_tsc;

/// The time in ticks. Their rate is measure_ticks_per_second().
inline std::uint64_t now_ticks() {
#ifdef __x86_64__
    if (has_constant_tsc) return __rdtsc();
#endif
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// \return The rate of now_ticks(), measured from the start of the process until now. Waits until the process
/// is at least one millisecond old.
double measure_ticks_per_second();

/// The sums of one named span of this process. Thread-safe.
class Timing {
public:
    explicit Timing(std::string name) : name_(std::move(name)) {}

    std::string const& name() const { return name_; }
    /// Adds one pass through the span.
    void add(std::uint64_t ticks) {
        count_.fetch_add(1, std::memory_order_relaxed);
        total_.fetch_add(ticks, std::memory_order_relaxed);
        auto max = max_.load(std::memory_order_relaxed);
        while (ticks > max && !max_.compare_exchange_weak(max, ticks, std::memory_order_relaxed)) {
        }
    }

    struct Sums {
        std::uint64_t count = 0, total_ticks = 0, max_ticks = 0;
    };
    /// Returns the sums since the last call. A pass that add() counts at the same moment may be split between
    /// this call and the next.
    Sums take() {
        return {count_.exchange(0, std::memory_order_relaxed), total_.exchange(0, std::memory_order_relaxed),
                max_.exchange(0, std::memory_order_relaxed)};
    }

private:
    std::string name_;
    std::atomic<std::uint64_t> count_ = 0, total_ = 0, max_ = 0;
};

inline constexpr std::size_t timings_max = 1024;

/// The sums of the span with this name. The reference stays valid until the process ends; keep it, because a
/// lookup takes a lock. Names beyond the first `timings_max` share one Timing, "others".
Timing& timing(std::string_view name);

struct TimingReport {
    std::string name;
    std::uint64_t count = 0;
    double total_s = 0;
    double max_s = 0;
};
/// \return The sums of the spans that were passed since the last call.
std::vector<TimingReport> take_timings();

/// Adds the time from its construction to its destruction to a Timing.
///
///     static auto& loading = det::telemetry::timing("load");
///     { det::telemetry::Span span(loading); load(); }
class Span {
public:
    explicit Span(Timing& timing) : timing_(timing), begin_(now_ticks()) {}
    ~Span() { timing_.add(now_ticks() - begin_); }
    Span(Span const&) = delete;
    Span& operator=(Span const&) = delete;

private:
    Timing& timing_;
    std::uint64_t begin_;
};

}  // namespace det::telemetry
