#pragma once
#include <det/telemetry/system/gpus.hpp>
#include <det/telemetry/system/process_times.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace det::telemetry {

/// Measures for how long a run has used the GPUs or processors of a node less than a limit. Pure: samples and
/// times of a monotonic clock go in.
///
/// The use is averaged over windows, and of several GPUs the one that is used most counts. A window below the
/// limit adds to the idle time, any other one ends it. Three things end it too, because they show that the
/// use was not seen, or has a reason: samples that come late, so that the node or the job was suspended; a
/// process that is stopped, for example by a debugger; a use that can't be read.
class UsageMeter {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    struct State {
        std::uint64_t windows = 0;
        std::chrono::milliseconds idle{0};
        std::optional<double> percent = {};  // in the last window; empty: not known
    };

    /// \param limit_percent below which the node is idle
    /// \param ticks_per_s of the processor times
    UsageMeter(std::chrono::milliseconds window, double limit_percent, long ticks_per_s)
        : window_(window), limit_percent_(limit_percent), ticks_per_s_(ticks_per_s) {}

    /// Time between two samples, of which a window has at least two.
    std::chrono::milliseconds interval() const;
    /// Adds a sample of the processes and, if the run has GPUs, of these.
    /// \param gpus nullopt: the run has none; empty: they can't be read
    /// \return whether a window is complete, so that state() has changed
    bool add(TimePoint now, RunCpuTime const& cpu, std::optional<std::span<GpuReading const>> gpus);
    State const& state() const { return state_; }

private:
    struct GpuSum {
        double percent = 0;  // of all readings
        int readings = 0;
    };
    struct Window {
        TimePoint begin;
        RunCpuTime cpu;
        std::map<std::string, GpuSum> gpus = {};  // by UUID
        int samples = 0;
        bool was_stopped = false;
        bool has_gpus = false;
    };

    std::optional<double> percent_of(Window const& window, TimePoint now, RunCpuTime const& cpu) const;
    void begin_window(TimePoint now, RunCpuTime const& cpu);

    std::chrono::milliseconds window_;
    double limit_percent_;
    long ticks_per_s_;
    std::optional<Window> current_;
    TimePoint last_sample_ = {};
    State state_;
};

}  // namespace det::telemetry
