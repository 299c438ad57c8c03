#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>

namespace det::launch::supervisor {

/// Adds the files of the experiment to DET_RUN_DIR of this node: the trial's info, the specification, the
/// code and the lines of slurm.setup with their script. Called once per run and node, under the lock of the
/// directory, so that the shared file system is read once per node and not once per rank.
Status prepare_node(std::filesystem::path const& run_dir, Environment const& environment);

}  // namespace det::launch::supervisor
