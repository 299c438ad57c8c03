#pragma once
#include <det/launch/node/container_call.hpp>

namespace det::launch {

/// The process that runs the command in the container of the experiment whose DET_RUN_DIR is set. Creates the
/// mount points and a file of credentials, which only this user can read.
Result<node::ContainerProcess> prepare_container(std::vector<std::string> const& command,
                                                 Environment const& environment,
                                                 std::filesystem::path const& programs);

}  // namespace det::launch
