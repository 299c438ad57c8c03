#pragma once
#include <det/foundation/repeat_write.hpp>
#include <det/foundation/storage_timeout.hpp>
#include <det/launch/supervisor/supervise.hpp>

#include <fmt/format.h>

#include "wait_for_step.hpp"

namespace det::launch::supervisor {

/// Whether a notice of Slurm ends the repetition. It does before a run has begun, because nothing is lost
/// then.
enum class AtNotice { give_up, go_on };

/// How long files of a run are awaited: DET_STORAGE_TIMEOUT_S, else ten minutes. supervise_trials() has
/// checked the variable.
inline std::chrono::milliseconds storage_timeout(SupervisorContext const& context) {
    constexpr std::chrono::minutes usual{10};
    return find_storage_timeout(context.environment, usual).value_or(usual);
}

/// Repeats work on the experiment's files that fails because of the file system, for storage_timeout() at
/// most. Logs the first failure. Returns the last result.
template <class Write>
auto repeat_write(SupervisorContext const& context, AtNotice at_notice, Write const& write) {
    WriteRetry retry{storage_timeout(context), std::chrono::seconds(1)};
    if (at_notice == AtNotice::give_up) retry.is_given_up = has_pending_notice;
    retry.on_first = [&](Error const& error) {
        context.log(fmt::format("{}: this is tried again", error.message));
    };
    return det::repeat_write(context.clock, retry, write);
}

}  // namespace det::launch::supervisor
