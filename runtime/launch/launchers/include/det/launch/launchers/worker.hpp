#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <string>
#include <vector>

namespace det::launch::launchers {

/// How a command ended.
struct WorkerEnd {
    int exit_code = 0;  // 128 + signal where a signal ended it
    int signal = 0;
};

/// Runs a rank's command, which shares a process group of its own with us. The group is killed when the
/// launcher's watch or our parent has gone, and by the watch when we have. Tells the watch how it ended.
Result<WorkerEnd> run_worker(std::vector<std::string> const& command, Environment const& environment);

}  // namespace det::launch::launchers
