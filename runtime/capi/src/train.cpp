#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "conversions.hpp"
#include "handle_types.hpp"

using namespace det;
using capi::guarded, capi::require;

namespace {

/// Fails with codes::misuse if the number is none of the enumerators 0 to `last`.
Status require_known(std::int32_t number, std::int32_t last, std::string_view name) {
    if (number >= 0 && number <= last) return Ok{};
    return Error{codes::misuse, fmt::format("there is no {} {}", name, number)};
}

/// Calls `use` with the metrics; allocates memory only for more than 64 of them.
template <class Use>
Status with_metrics(char const* const* names, double const* values, std::size_t count, Use const& use) {
    std::array<Metric, 64> few;
    std::vector<Metric> many(count > few.size() ? count : 0);
    std::span<Metric> const metrics(many.empty() ? few.data() : many.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
        DET_TRY(require(names[i], "a name"));
        metrics[i] = {names[i], values[i]};
    }
    return use(metrics);
}

}  // namespace

det_status det_train_report_metrics(det_context* context, char const* group, uint64_t steps_completed,
                                    char const* metrics) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", group, "group", metrics, "metrics"));
        return context->core->train().report_metrics_text(group, steps_completed, metrics);
    });
}

det_status det_train_report_training_metrics(det_context* context, uint64_t steps_completed,
                                             char const* metrics) {
    return det_train_report_metrics(context, "training", steps_completed, metrics);
}

det_status det_train_report_validation_metrics(det_context* context, uint64_t steps_completed,
                                               char const* metrics) {
    return det_train_report_metrics(context, "validation", steps_completed, metrics);
}

det_status det_train_report_numbers(det_context* context, char const* group, uint64_t steps_completed,
                                    char const* const* names, double const* values, size_t count) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", group, "group"));
        if (count != 0) DET_TRY(require(names, "names", values, "values"));
        return with_metrics(names, values, count, [&](std::span<Metric const> metrics) -> Status {
            return context->core->train().report_metrics(group, steps_completed, metrics);
        });
    });
}

det_status det_train_report_mean(det_context* context, char const* group, uint64_t steps_completed,
                                 char const* const* names, double const* values, size_t count,
                                 double* means) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", group, "group"));
        if (count != 0) DET_TRY(require(names, "names", values, "values"));
        return with_metrics(names, values, count, [&](std::span<Metric const> metrics) -> Status {
            DET_TRY_ASSIGN(auto const all,
                           context->core->train().report_mean_metrics(group, steps_completed, metrics));
            if (means != nullptr) std::ranges::copy(all, means);
            return Ok{};
        });
    });
}

det_status det_train_flush(det_context* context) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        return context->core->train().flush();
    });
}

det_status det_train_report_progress(det_context* context, double progress) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        return context->core->train().report_progress(progress);
    });
}

det_status det_train_set_status(det_context* context, char const* status) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", status, "status"));
        return context->core->train().set_status(status);
    });
}

det_status det_train_set_metadata(det_context* context, char const* metadata) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        DET_TRY_ASSIGN(auto value, capi::parse(metadata, "metadata"));
        return context->core->train().set_metadata(std::move(value));
    });
}

det_status det_train_report_early_exit(det_context* context, det_early_exit reason) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        DET_TRY(require_known(reason, DET_USER_REQUESTED_STOP, "reason"));
        return context->core->train().report_early_exit(static_cast<core::EarlyExit>(reason));
    });
}

det_status det_train_report_alert(det_context* context, char const* title, char const* description,
                                  det_alert_level level) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        DET_TRY(require_known(level, DET_ALERT_ERROR, "level"));
        core::Alert alert;
        if (title != nullptr) alert.title = title;
        if (description != nullptr) alert.description = description;
        alert.level = static_cast<core::Alert::Level>(level);
        return context->core->train().report_alert(std::move(alert));
    });
}

det_status det_train_load_metadata(det_context* context, det_strings** metadata) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", metadata, "metadata"));
        DET_TRY_ASSIGN(auto const value, context->core->train().load_metadata());
        *metadata = capi::list_of_one(to_line(value));
        return Ok{};
    });
}

det_status det_train_find_experiment_best_validation(det_context* context, int32_t* is_found, double* best) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", is_found, "is_found", best, "best"));
        DET_TRY_ASSIGN(auto const found, context->core->train().find_experiment_best_validation());
        *is_found = found ? 1 : 0;
        if (found) *best = *found;
        return Ok{};
    });
}

det_status det_train_find_last_steps(det_context* context, int32_t* is_found, uint64_t* steps_completed) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", is_found, "is_found", steps_completed, "steps_completed"));
        DET_TRY_ASSIGN(auto const found, context->core->train().find_last_steps());
        *is_found = found ? 1 : 0;
        if (found) *steps_completed = *found;
        return Ok{};
    });
}

det_status det_train_make_tensorboard_directory(det_context* context, det_strings** path) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", path, "path"));
        DET_TRY_ASSIGN(auto const directory, context->core->train().make_tensorboard_directory());
        *path = directory ? capi::list_of_one(directory->string()) : new det_strings;
        return Ok{};
    });
}
