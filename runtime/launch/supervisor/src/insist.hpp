#pragma once
#include <det/foundation/error_codes.hpp>
#include <det/launch/supervisor/supervise.hpp>

#include <chrono>
#include <fmt/format.h>

namespace det::launch::supervisor {

/// Asks Slurm again and again while slurmctld does not answer: it may be restarted, or its backup may take
/// over. The last answer.
template <class Ask>
auto insist(Surroundings const& around, std::chrono::seconds patience, Ask ask) {
    constexpr std::chrono::seconds pause{2};
    auto const until = around.clock.steady_now() + patience;
    for (;;) {
        auto answer = ask();
        bool const may_help = !answer && answer.error().code == codes::slurm_unreachable;
        if (!may_help || around.clock.steady_now() + pause > until) return answer;
        around.say(fmt::format("Slurm does not answer: {}", answer.error().message));
        around.clock.sleep_for(pause);
    }
}

}  // namespace det::launch::supervisor
