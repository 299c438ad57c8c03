#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/launchers/launch_outcome.hpp>
#include <det/launch/launchers/launchers.hpp>

#include <chrono>
#include <functional>

namespace det::launch::launchers {

struct MonitorOptions {
    /// Time from the first failure until the other workers are killed, for their own error messages.
    std::chrono::milliseconds grace = std::chrono::seconds(3);
    /// Time from then until the launcher itself is killed.
    std::chrono::milliseconds kill_timeout = std::chrono::seconds(10);
    std::function<void(std::string const&)> log;  // writes a line about a failed launch
    /// Called when the exit code is known, possibly before any process is killed, and once more at the end.
    std::function<void(LaunchOutcome const&)> on_failure = [](LaunchOutcome const&) {};
};

/// Starts the processes of a plan and enforces the launcher contract; returns the exit code of the launch.
/// Forwards signals to the processes, except those that were blocked before. If this process dies, the
/// workers die too.
Result<int> monitor_launch(launchers::LaunchPlan const& plan, std::filesystem::path const& run_dir,
                           Clock const& clock, MonitorOptions const& options);

}  // namespace det::launch::launchers
