#pragma once
#include <det/foundation/environment.hpp>
#include <det/launch/launchers/launchers.hpp>

#include <functional>

namespace det::launch {

struct OwnPrograms {
    std::filesystem::path det_launch, wrap_rank, remote_shell;
};

/// What a launcher has to know, read from DET_RUN_DIR. Asks Python for its torch where that matters.
Result<launchers::LaunchContext> read_launch_context(Environment environment, OwnPrograms const& programs,
                                                     bool asks_torch);

/// Writes the plan's files, checks its port, starts its processes and holds the launcher contract. Returns
/// the exit code.
Result<int> execute_plan(launchers::LaunchPlan const& plan, launchers::LaunchContext const& context,
                         OwnPrograms const& programs, std::function<void(std::string const&)> const& say);

}  // namespace det::launch
