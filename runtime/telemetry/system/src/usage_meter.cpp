#include <det/telemetry/system/usage_meter.hpp>

#include <algorithm>

namespace det::telemetry {
namespace {

using namespace std::chrono_literals;

// A loaded node may delay a sample by this much.
constexpr auto sample_delay_max = 3s;

}  // namespace

std::chrono::milliseconds UsageMeter::interval() const {
    return std::min<std::chrono::milliseconds>(1s, window_ / 2);
}

void UsageMeter::begin_window(TimePoint now, RunCpuTime const& cpu) { current_.emplace(Window{now, cpu}); }

bool UsageMeter::add(TimePoint now, RunCpuTime const& cpu, std::optional<std::span<GpuReading const>> gpus) {
    bool const is_late = current_ && now - last_sample_ > interval() + sample_delay_max;
    last_sample_ = now;
    if (!current_ || is_late) {
        begin_window(now, cpu);
        state_.idle = 0ms;
        return false;
    }
    auto& window = *current_;
    ++window.samples;
    window.was_stopped = window.was_stopped || cpu.is_stopped;
    window.has_gpus = gpus.has_value();
    if (gpus) {
        for (auto const& gpu : *gpus) {
            auto& sum = window.gpus[gpu.uuid];
            sum.percent += gpu.utilisation_percent;
            ++sum.readings;
        }
    }
    if (now - window.begin < window_) return false;
    state_.percent = percent_of(window, now, cpu);
    bool const is_idle = state_.percent && *state_.percent < limit_percent_ && !window.was_stopped;
    auto const length = std::chrono::duration_cast<std::chrono::milliseconds>(now - window.begin);
    state_.idle = is_idle ? state_.idle + length : 0ms;
    ++state_.windows;
    begin_window(now, cpu);
    return true;
}

std::optional<double> UsageMeter::percent_of(Window const& window, TimePoint now,
                                             RunCpuTime const& cpu) const {
    if (window.has_gpus) {
        if (window.gpus.empty()) return std::nullopt;
        double most = 0;
        for (auto const& [uuid, sum] : window.gpus) {
            if (sum.readings < window.samples) return std::nullopt;
            most = std::max(most, sum.percent / sum.readings);
        }
        return most;
    }
    // RunCpuSum never falls; one that did would be unknown use, and not a use of 2^64 ticks.
    auto const ticks = cpu.ticks < window.cpu.ticks ? 0 : cpu.ticks - window.cpu.ticks;
    double const seconds = std::chrono::duration<double>(now - window.begin).count();
    return 100 * static_cast<double>(ticks) / static_cast<double>(ticks_per_s_) / seconds;
}

}  // namespace det::telemetry
