#include "measure_usage.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/node_usage.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/telemetry/system/usage_meter.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <unistd.h>
#include <vector>

#include "wait_for_input_end.hpp"

namespace det::launch {
namespace {

using namespace std::chrono_literals;

/// Reading all processes of a large node takes tens of milliseconds.
std::chrono::milliseconds process_interval(std::chrono::milliseconds window) {
    return std::clamp<std::chrono::milliseconds>(window / 4, 250ms, 10s);
}

NodeUsage to_usage(telemetry::UsageMeter::State const& state) {
    return {state.windows, static_cast<std::uint64_t>(state.idle.count()), state.percent};
}

}  // namespace

void measure_usage(UsageMeasurement const& request, int input, Clock const& clock) {
    telemetry::RunProcesses processes("/proc", fmt::format("{}={}", variables::run_key, request.run_key));
    auto const gpus = request.has_gpus ? telemetry::open_gpus() : nullptr;
    telemetry::UsageMeter meter(request.window, idle_percent, ::sysconf(_SC_CLK_TCK));
    telemetry::RunCpuTime cpu;
    std::vector<telemetry::GpuReading> readings;
    auto next = clock.steady_now(), next_processes = next;
    do {
        if (clock.steady_now() >= next_processes) {
            cpu = processes.read();
            next_processes = clock.steady_now() + process_interval(request.window);
        }
        readings = gpus ? gpus->read() : std::vector<telemetry::GpuReading>();
        auto const of_gpus =
            request.has_gpus ? std::optional(std::span<telemetry::GpuReading const>(readings)) : std::nullopt;
        auto const now = clock.steady_now();
        if (meter.add(now, cpu, of_gpus))
            (void)!write_file(request.file, render_node_usage(to_usage(meter.state())));
        next = std::max(next + meter.interval(), now);
    } while (wait_for_input_end(next, input, clock) == InputWait::time_is_over);
}

}  // namespace det::launch
