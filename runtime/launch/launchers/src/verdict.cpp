#include <det/launch/launchers/verdict.hpp>

#include <csignal>
#include <fmt/format.h>

namespace det::launch::launchers {

Verdict judge_launch(LaunchFacts const& facts) {
    int const launcher_or_one = facts.launcher_exit != 0 ? facts.launcher_exit : 1;
    if (facts.first_failure) {
        return {*facts.first_failure, fmt::format("a worker ended with {}", *facts.first_failure)};
    }
    if (facts.was_ordered_to_end && facts.launcher_exit == 0)
        return {128 + SIGTERM, "a worker was ended by TERM"};
    if (facts.vanished) return {launcher_or_one, fmt::format("{} vanished", *facts.vanished)};
    if (facts.unfinished > 0 && facts.launcher_exit == 0) {
        return {launcher_or_one,
                fmt::format("the launcher ended before {} of its workers", facts.unfinished)};
    }
    if (facts.launcher_exit == 0 && !(facts.is_share_remote && facts.remote_failure)) return {};
    if (facts.remote_failure) {
        return {*facts.remote_failure,
                fmt::format("a command on another node ended with {}", *facts.remote_failure)};
    }
    return {facts.launcher_exit, fmt::format("the launcher ended with {}", facts.launcher_exit)};
}

}  // namespace det::launch::launchers
