#include <det/core/preempt.hpp>

#include "session.hpp"

namespace det::core {

Result<bool> Preempt::should_preempt() {
    std::uint8_t const mine = session_.notice && session_.notice->is_raised() ? 1 : 0;
    DET_TRY_ASSIGN(auto const any, session_.distributed.allreduce(mine, collectives::ReduceOp::max));
    if (any != 0 && !acknowledged_ && session_.journal) {
        DET_TRY(
            session_.journal->append(PreemptionAcknowledged{session_.clock.now()}, Durability::power_loss));
    }
    acknowledged_ = acknowledged_ || any != 0;
    return any != 0;
}

}  // namespace det::core
