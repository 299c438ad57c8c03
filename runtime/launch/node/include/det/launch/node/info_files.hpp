#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/task_identity.hpp>

#include <filesystem>

namespace det::launch::node {

/// Writes cluster.json, rendezvous.json and resources.json into `info`, from the variables of the run. Peers
/// are named, not asked for: one name is looked up, however many nodes there are. Returns the variables that
/// were found out on the way, for all tasks of the node.
Result<Variables> write_info_files(std::filesystem::path const& info, int node,
                                   Environment const& environment);

}  // namespace det::launch::node
