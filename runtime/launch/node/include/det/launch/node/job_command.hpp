#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>

namespace det::launch::node {

/// What `scontrol show job` shows as the command of a job.
struct JobCommand {
    std::string submitted;  // the path of the generated script, which sbatch got
    std::string users;      // the path of the batch script for which it was generated
    std::string arguments;  // of the batch script, separated by blanks
};

/// Writes the script `scontrol` into a directory of DET_RUN_DIR: Slurm's scontrol, which shows the user's
/// batch script as the command of its job. Many batch scripts find their own directory in this way.
Status write_scontrol_filter(std::filesystem::path const& run_dir, JobCommand const& command);

/// If DET_RUN_DIR has the script, puts its directory in front of PATH.
void use_scontrol_filter(Environment& environment, std::filesystem::path const& run_dir);

}  // namespace det::launch::node
