#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/launchers/launchers.hpp>
#include <det/launch/launchers/verdict.hpp>

#include <chrono>
#include <functional>

namespace det::launch::launchers {

struct WatchOptions {
    /// From the first failure until the others are ended: time for their own last words.
    std::chrono::milliseconds grace = std::chrono::seconds(3);
    /// From there until the launcher itself is ended.
    std::chrono::milliseconds patience = std::chrono::seconds(10);
    std::function<void(std::string const&)> say;  // one line about an end that is not a good one
    /// As soon as the exit code is known, which may be before anything was ended for it; then once more at
    /// the end.
    std::function<void(Verdict const&)> on_failure = [](Verdict const&) {};
};

/// Starts the processes of a plan and holds the launcher contract: returns the exit code of the whole.
/// Signals but those that were blocked before are passed on to the processes. When this process dies, so do
/// the workers.
Result<int> watch_launch(launchers::LaunchPlan const& plan, std::filesystem::path const& run_dir,
                         Clock const& clock, WatchOptions const& options);

}  // namespace det::launch::launchers
