#pragma once
#include <det/foundation/repeat_write.hpp>
#include <det/launch/supervisor/supervise.hpp>

#include <fmt/format.h>

#include "wait_for_step.hpp"

namespace det::launch::supervisor {

/// Whether a notice of Slurm ends the repetition. It does before a run has begun, because nothing is lost
/// then.
enum class AtNotice { give_up, go_on };

/// Repeats work on the experiment's files that fails because of the file system, for ten minutes at most.
/// Logs the first failure. Returns the last result.
template <class Write>
auto repeat_write(SupervisorContext const& context, AtNotice at_notice, Write const& write) {
    WriteRetry retry{std::chrono::minutes(10), std::chrono::seconds(1)};
    if (at_notice == AtNotice::give_up) retry.is_given_up = has_pending_notice;
    retry.on_first = [&](Error const& error) {
        context.log(fmt::format("{}: this is tried again", error.message));
    };
    return det::repeat_write(context.clock, retry, write);
}

}  // namespace det::launch::supervisor
