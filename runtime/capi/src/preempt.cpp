#include <det/preemption/term_handler.hpp>

#include "handle_types.hpp"

using namespace det;
using Acknowledge = core::Preempt::Acknowledge;

namespace {

det_status ask(det_context* context, int32_t* should_stop, Acknowledge acknowledge) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(context, "context", should_stop, "should_stop"));
        DET_TRY_ASSIGN(bool const stop, context->core->preempt().should_preempt(acknowledge));
        *should_stop = stop ? 1 : 0;
        return Ok{};
    });
}

}  // namespace

det_status det_preempt_should_preempt(det_context* context, int32_t* should_stop) {
    return ask(context, should_stop, Acknowledge::at_once);
}

det_status det_preempt_peek(det_context* context, int32_t* should_stop) {
    return ask(context, should_stop, Acknowledge::later);
}

det_status det_preempt_acknowledge(det_context* context) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(context, "context"));
        return context->core->preempt().acknowledge();
    });
}

void det_preempt_wrap_handler_of_child() { preemption::TermHandler::wrap_handler_of_child(); }
