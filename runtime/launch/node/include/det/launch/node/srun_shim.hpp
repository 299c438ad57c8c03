#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::launch::node {

/// Writes the script `srun` into a directory of DET_RUN_DIR. It calls `det-launch nested-srun`, which refuses
/// a step that the run starts already on its first node, and becomes Slurm's srun for all others.
Status write_srun_shim(std::filesystem::path const& run_dir, std::filesystem::path const& det_launch);

/// If DET_RUN_DIR has the script, puts its directory in front of PATH.
void use_srun_shim(Environment& environment, std::filesystem::path const& run_dir);

/// The command line of Slurm's srun for the arguments that the script has got: the first srun in PATH that is
/// not the script. An error if check_nested_step refuses the step, or if there is no srun.
Result<std::vector<std::string>> plan_nested_srun(std::vector<std::string> const& arguments,
                                                  Environment const& environment);

}  // namespace det::launch::node
