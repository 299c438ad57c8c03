#include "operation.hpp"

namespace det::collectives::node {

void Operation::begin(Seat& seat) {
    has_begun_ = true;
    said_ = seat.voice->said_as(call_);
    said_.sequence = ++seat.sequence - 1;
    Payload payload;
    auto const size = refusal_ ? 0 : offer(seat, payload);
    arrival_.begin(said_, refusal_ ? &*refusal_ : nullptr);
    seat.arrive(arrival_.stamp(), Bytes(payload).first(size));
}

bool Operation::advance(Seat& seat) {
    if (!has_arrived_) {
        if (!arrival_.advance(seat)) return false;
        if (arrival_.objection() != nullptr || !settle(seat, *seat.plan)) return true;
        has_arrived_ = true;
        exchange_.begin(seat, *seat.plan);
    }
    return exchange_.advance(seat, *seat.plan);
}

Status Operation::result() const {
    if (arrival_.objection() == nullptr) return Ok{};
    return *arrival_.objection();
}

}  // namespace det::collectives::node
