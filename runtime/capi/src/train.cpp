#include "conversions.hpp"
#include "objects.hpp"

using namespace det;
using capi::guarded, capi::require;

det_status det_train_report_metrics(det_context* context, char const* group, uint64_t steps_completed,
                                    char const* metrics) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", group, "group"));
        DET_TRY_ASSIGN(auto values, capi::parse(metrics, "metrics"));
        return context->core->train().report_metrics(group, steps_completed, std::move(values));
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
        auto metrics = Json::object();
        for (std::size_t i = 0; i < count; ++i) {
            DET_TRY(require(names[i], "a name"));
            metrics[names[i]] = values[i];
        }
        return context->core->train().report_metrics(group, steps_completed, std::move(metrics));
    });
}

det_status det_train_report_progress(det_context* context, double progress) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        return context->core->train().report_progress(progress);
    });
}
