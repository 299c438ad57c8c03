#include "operation.hpp"

namespace det::node_collectives {

void Operation::begin(Seat& seat) {
    has_begun_ = true;
    call_.sequence = ++seat.sequence - 1;
    if (refused_) offer(seat);
    arrival_.post(seat, call_, refused_);
}

bool Operation::advance(Seat& seat) {
    if (!has_arrived_) {
        if (!arrival_.advance(seat)) return false;
        if (!arrival_.verdict() || !settle(seat, plan_)) return true;
        has_arrived_ = true;
        exchange_.begin(seat, plan_);
    }
    return exchange_.advance(seat, plan_);
}

}  // namespace det::node_collectives
