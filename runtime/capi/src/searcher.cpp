#include <det/protocol/steps_completed.hpp>

#include <fmt/format.h>

#include "handle_types.hpp"

using namespace det;
using capi::guarded, capi::require;
using core::Searcher;

namespace {

det_unit to_unit(search::TrainingLength const& length) {
    if (!length.time_metric.empty()) return DET_UNIT_TIME_METRIC;
    constexpr det_unit units[] = {DET_UNIT_STEPS, DET_UNIT_BATCHES, DET_UNIT_RECORDS, DET_UNIT_EPOCHS};
    return units[static_cast<std::size_t>(length.unit)];
}

Result<Searcher::Mode> to_searcher_mode(det_searcher_mode mode) {
    constexpr Searcher::Mode modes[] = {Searcher::Mode::workers_ask_chief, Searcher::Mode::chief_only};
    if (mode >= 0 && static_cast<std::size_t>(mode) < std::size(modes)) return modes[mode];
    return Error{codes::misuse, fmt::format("there is no mode of the searcher {}", mode)};
}

det_status next(det_context* context, det_searcher_mode mode, uint64_t* length,
                core::Preempt::Acknowledge acknowledge) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", length, "length"));
        DET_TRY_ASSIGN(auto const who, to_searcher_mode(mode));
        DET_TRY_ASSIGN(auto const operation, context->core->searcher().next_operation(who, acknowledge));
        *length = operation.value_or(0);
        return Ok{};
    });
}

}  // namespace

det_status det_searcher_training_length(det_context* context, uint64_t* length, det_unit* unit) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", length, "length", unit, "unit"));
        auto const found = context->core->searcher().training_length();
        *length = found ? found->value : 0;
        *unit = found ? to_unit(*found) : DET_UNIT_STEPS;
        return Ok{};
    });
}

det_status det_searcher_batches_left(det_context* context, uint64_t steps_completed, int32_t* is_known,
                                     uint64_t* batches) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context", is_known, "is_known", batches, "batches"));
        DET_TRY(check_steps_completed(steps_completed));
        auto const left = context->core->searcher().batches_left(steps_completed);
        *is_known = left ? 1 : 0;
        if (left) *batches = *left;
        return Ok{};
    });
}

det_status det_searcher_next_operation(det_context* context, det_searcher_mode mode, uint64_t* length) {
    return next(context, mode, length, core::Preempt::Acknowledge::at_once);
}

det_status det_searcher_peek_operation(det_context* context, det_searcher_mode mode, uint64_t* length) {
    return next(context, mode, length, core::Preempt::Acknowledge::later);
}

det_status det_searcher_acknowledge_end(det_context* context) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        return context->core->searcher().acknowledge_end();
    });
}

det_status det_searcher_report_progress(det_context* context, double length) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        return context->core->searcher().report_progress(length);
    });
}

det_status det_searcher_report_completed(det_context* context, double metric) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        return context->core->searcher().report_completed(metric);
    });
}
