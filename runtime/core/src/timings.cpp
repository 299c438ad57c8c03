#include <det/core/train.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/steps_completed.hpp>
#include <det/telemetry/span.hpp>

#include "context_data.hpp"

namespace det::core {

Status Train::report_timings(std::optional<std::uint64_t> steps_completed) {
    if (steps_completed) DET_TRY(check_steps_completed(*steps_completed));
    if (steps_completed) timing_steps_ = *steps_completed;
    // Only the chief takes the timings: ranks may be threads of one process, which share them.
    if (!require_chief(data_, "report_timings")) return Ok{};
    auto const timings = telemetry::take_timings();
    if (timings.empty()) return Ok{};
    auto metrics = Json::object();
    for (auto const& timing : timings) {
        metrics[timing.name + ".count"] = timing.count;
        metrics[timing.name + ".total_s"] = timing.total_s;
        metrics[timing.name + ".max_s"] = timing.max_s;
    }
    return report_metrics("timing", timing_steps_, std::move(metrics));
}

}  // namespace det::core
