#pragma once
#include <string>
#include <vector>

namespace det {

/// Files in DET_RUN_DIR of a run that has lines of slurm.setup. See setup.bash in launch/supervisor.
namespace setup_files {
inline constexpr char directory[] = "setup";
inline constexpr char lines[] = "lines";    // the lines, each ended by a NUL
inline constexpr char script[] = "run";     // script that runs the lines or loads what they changed
inline constexpr char failed[] = "failed";  // message about the line that failed
}  // namespace setup_files

/// The words in front of a command that make it start in the environment of slurm.setup.
inline std::vector<std::string> setup_command_prefix() {
    return {"bash", "-c", R"(. "$DET_RUN_DIR/setup/run")", "setup"};
}

}  // namespace det
