#include "objects.hpp"

using namespace det;

det_status det_preempt_should_preempt(det_context* context, int32_t* should_stop) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(context, "context", should_stop, "should_stop"));
        DET_TRY_ASSIGN(bool const stop, context->core->preempt().should_preempt());
        *should_stop = stop ? 1 : 0;
        return Ok{};
    });
}
