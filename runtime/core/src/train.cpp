#include <det/core/train.hpp>
#include <det/protocol/json.hpp>

#include <cmath>
#include <fmt/format.h>

#include "session.hpp"

namespace det::core {

Status Train::report_training_metrics(std::uint64_t steps_completed, nlohmann::json metrics) {
    return report_metrics("training", steps_completed, std::move(metrics));
}

Status Train::report_validation_metrics(std::uint64_t steps_completed, nlohmann::json metrics) {
    return report_metrics("validation", steps_completed, std::move(metrics));
}

Status Train::report_metrics(std::string group, std::uint64_t steps_completed, nlohmann::json metrics) {
    DET_TRY(require_chief(session_, "report_metrics"));
    if (!metrics.is_object()) return Error{codes::misuse, "metrics are a map of names to values"};
    if (group.empty() || group.find('.') != std::string::npos) {
        return Error{codes::misuse, fmt::format("'{}' can't name a group of metrics", group)};
    }
    if (!session_.journal) return Ok{};
    return session_.journal->append(
        MetricsReported{session_.clock.now(), std::move(group), steps_completed, std::move(metrics)});
}

Status Train::report_progress(double progress) {
    DET_TRY(require_chief(session_, "report_progress"));
    if (!(progress >= 0 && progress <= 1)) {
        return Error{codes::misuse, fmt::format("progress {} is not between 0 and 1", progress)};
    }
    if (!session_.journal) return Ok{};
    return session_.journal->append(ProgressReported{session_.clock.now(), progress});
}

}  // namespace det::core
