#include "operation.hpp"

namespace det::collectives::node {

void Operation::begin(RankSlot& slot) {
    has_begun_ = true;
    reported_call_ = slot.error_scope->reported_call(call_);
    reported_call_.sequence = ++slot.sequence - 1;
    Payload payload;
    auto const size = refusal_ ? 0 : location(slot, payload);
    entry_.begin(reported_call_, refusal_ ? &*refusal_ : nullptr);
    slot.enter(entry_.signature(), Bytes(payload).first(size));
}

bool Operation::advance(RankSlot& slot) {
    if (!is_exchanging_) {
        if (!entry_.advance(slot)) return false;
        if (entry_.mismatch() != nullptr || !on_all_entered(slot, *slot.plan)) return true;
        is_exchanging_ = true;
        exchange_.begin(slot, *slot.plan);
    }
    return exchange_.advance(slot, *slot.plan);
}

Status Operation::result() const {
    if (entry_.mismatch() == nullptr) return Ok{};
    return *entry_.mismatch();
}

}  // namespace det::collectives::node
