#include <det/telemetry/span.hpp>

#include <new>

#include "conversions.hpp"
#include "handle_types.hpp"

using namespace det;
using capi::guarded, capi::require;

det_timing* det_timing_register(char const* name) {
    if (name == nullptr) return nullptr;
    try {
        return reinterpret_cast<det_timing*>(&telemetry::timing(name));
    } catch (std::bad_alloc const&) {
        return nullptr;
    }
}

uint64_t det_span_begin(void) { return telemetry::now_ticks(); }

void det_span_end(det_timing* timing, uint64_t begin) {
    if (timing == nullptr) return;
    reinterpret_cast<telemetry::Timing*>(timing)->add(telemetry::now_ticks() - begin);
}

det_status det_train_report_timings(det_context* context, uint64_t steps_completed) {
    return guarded([&]() -> Status {
        DET_TRY(require(context, "context"));
        return context->core->train().report_timings(steps_completed);
    });
}
