#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>

namespace det::supervisor {

/// Fills DET_RUN_DIR of this node, once per run: ClusterInfo, the notice page, and, where the run belongs to
/// an experiment, its spec and its code. The shared file system is read once per node, not once per rank.
Status prepare_node(std::filesystem::path const& run_dir, int node, Environment const& environment);

}  // namespace det::supervisor
