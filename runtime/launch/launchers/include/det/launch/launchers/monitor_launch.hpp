#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/launchers/launchers.hpp>

#include <chrono>
#include <functional>
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

/// The exit code of a launch is that of the worker that failed first, else that of a failed command on
/// another node or of the launcher. It is 0 only if the launcher and all workers end with 0. A worker that
/// disconnects without an exit code has failed. Pure.
LaunchOutcome launch_outcome(LaunchFacts const& facts);

struct MonitorOptions {
    /// Time from the first failure until the other workers are killed. In this time they can print their own
    /// error messages.
    std::chrono::milliseconds grace = std::chrono::seconds(3);
    /// Time from the killing of the workers until the launcher itself is killed.
    std::chrono::milliseconds kill_timeout = std::chrono::seconds(10);
    std::function<void(std::string const&)> log;  // writes a line about a failed launch
};

/// Starts the processes of a plan, ends all others after the first failure, and returns the exit code of the
/// launch (launch_outcome()). In a supervised run the processes are started with TERM and the signals of
/// slurm.forward_signals blocked and do not get them: Slurm's notice must not end the launch, and a TERM of
/// any other sender ends it. Forwards the other signals to the processes. If this process dies, the workers
/// die too.
Result<int> monitor_launch(LaunchPlan const& plan, std::filesystem::path const& run_dir, Clock const& clock,
                           MonitorOptions const& options);

}  // namespace det::launch::launchers
