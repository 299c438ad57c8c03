#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <string>
#include <vector>

namespace det::launch::launchers {

/// How a command ended.
struct WorkerEnd {
    int exit_code = 0;  // 128 + signal if a signal ended it
    int signal = 0;
};

/// Runs a rank's command in the process group that this process leads. The group is killed when the
/// launcher's monitor or the parent process has ended, and by the monitor when this process has ended. Sends
/// the exit code to the monitor.
Result<WorkerEnd> run_worker(std::vector<std::string> const& command, Environment const& environment);

}  // namespace det::launch::launchers
