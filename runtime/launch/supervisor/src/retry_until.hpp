#pragma once
#include <det/foundation/error_codes.hpp>
#include <det/launch/supervisor/supervise.hpp>

#include <chrono>
#include <fmt/format.h>

namespace det::launch::supervisor {

/// Repeats a request while slurmctld does not answer, until the timeout: slurmctld may be restarting, or its
/// backup may be taking over. Returns the last answer.
template <class Ask>
auto retry_until(SupervisorContext const& context, std::chrono::seconds timeout, Ask ask) {
    constexpr std::chrono::seconds pause{2};
    auto const until = context.clock.steady_now() + timeout;
    for (;;) {
        auto answer = ask();
        bool const may_help = !answer && answer.error().code == codes::slurm_unreachable;
        if (!may_help || context.clock.steady_now() + pause > until) return answer;
        context.log(fmt::format("Slurm does not answer: {}", answer.error().message));
        context.clock.sleep_for(pause);
    }
}

}  // namespace det::launch::supervisor
