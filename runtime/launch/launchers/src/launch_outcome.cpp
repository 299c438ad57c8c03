#include <det/launch/launchers/launch_outcome.hpp>

#include <csignal>
#include <fmt/format.h>

namespace det::launch::launchers {

LaunchOutcome launch_outcome(LaunchFacts const& facts) {
    int const launcher_or_one = facts.launcher_exit != 0 ? facts.launcher_exit : 1;
    if (facts.first_failure) {
        return {*facts.first_failure, fmt::format("a worker ended with {}", *facts.first_failure)};
    }
    if (facts.was_terminated && facts.launcher_exit == 0)
        return {128 + SIGTERM, "a worker was ended by TERM"};
    if (facts.disconnected) return {launcher_or_one, fmt::format("{} vanished", *facts.disconnected)};
    if (facts.unfinished > 0 && facts.launcher_exit == 0) {
        return {launcher_or_one,
                fmt::format("the launcher ended before {} of its workers", facts.unfinished)};
    }
    if (facts.launcher_exit == 0 && !(facts.remote_failure_counts && facts.remote_failure)) return {};
    if (facts.remote_failure) {
        return {*facts.remote_failure,
                fmt::format("a command on another node ended with {}", *facts.remote_failure)};
    }
    return {facts.launcher_exit, fmt::format("the launcher ended with {}", facts.launcher_exit)};
}

}  // namespace det::launch::launchers
