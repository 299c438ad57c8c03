#pragma once
#include <optional>
#include <string>

namespace det::launch::launchers {

/// The facts about a launch that determine its exit code.
struct LaunchFacts {
    int launcher_exit = 0;             // the highest exit code, if several processes were started
    std::optional<int> first_failure;  // exit code of the first worker that failed
    bool was_terminated = false;  // a worker ended by TERM, which launchers send to the others when one fails
    std::optional<std::string> disconnected;  // the first worker that disconnected without its exit code
    std::optional<int> remote_failure;        // the first non-zero exit code of a command on another node
    bool remote_failure_counts = false;       // see LaunchPlan::fails_with_remote_commands
    int unfinished = 0;                       // workers still connected when the launcher had ended
};

struct LaunchOutcome {
    int exit_code = 0;
    std::string reason;  // empty after success
};

/// The launcher contract: the exit code is that of the worker that failed first, and 0 only if all workers
/// end with 0; a worker that disconnects without an exit code has failed. Pure.
LaunchOutcome launch_outcome(LaunchFacts const& facts);

}  // namespace det::launch::launchers
