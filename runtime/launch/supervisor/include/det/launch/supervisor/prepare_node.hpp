#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>

namespace det::launch::supervisor {

/// Adds to DET_RUN_DIR of this node what its experiment has: the trial's info, the spec and the code. Once
/// per run and node, by whoever prepares the directory: the shared file system is read once per node, not
/// once per rank.
Status prepare_node(std::filesystem::path const& run_dir, Environment const& environment);

}  // namespace det::launch::supervisor
