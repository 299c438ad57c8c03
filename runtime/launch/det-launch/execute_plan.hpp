#pragma once
#include <det/foundation/environment.hpp>
#include <det/launch/launchers/launchers.hpp>

#include <functional>

namespace det::launch {

struct ProgramPaths {
    std::filesystem::path det_launch, wrap_rank, remote_shell;
};

/// Reads the facts about the run and this node from DET_RUN_DIR.
/// \param queries_torch whether to run Python to find out what the installed torch needs.
Result<launchers::LaunchContext> read_launch_context(Environment environment, ProgramPaths const& programs,
                                                     bool queries_torch);

/// Checks the plan's port, writes its files, starts its processes and ends them as monitor_launch() does.
/// \return the exit code of the launch; codes::transport if the port is in use. A node that only waits for
///     the chief returns 0 when the launch has ended.
Result<int> execute_plan(launchers::LaunchPlan const& plan, launchers::LaunchContext const& context,
                         ProgramPaths const& programs, std::function<void(std::string const&)> const& log);

}  // namespace det::launch
