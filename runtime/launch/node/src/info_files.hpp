#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/task_identity.hpp>

#include <filesystem>

namespace det::launch::node {

/// Writes cluster.json, rendezvous.json and resources.json into the directory `info`, from the variables of
/// the run. Host names of peers are stored unresolved, so that only one name is looked up, whatever the
/// number of nodes. Returns the detected variables that all tasks of the node need.
Result<Variables> write_info_files(std::filesystem::path const& info, int node,
                                   Environment const& environment);

}  // namespace det::launch::node
