#pragma once
#include <det/launch/node/container_call.hpp>

namespace det::launch {

/// What runs the command in the container that the experiment of DET_RUN_DIR says. Makes what is bound there:
/// folders, and a file of credentials, which is this user's alone.
Result<node::ContainerProcess> prepare_container(std::vector<std::string> const& command,
                                                 Environment const& environment,
                                                 std::filesystem::path const& programs);

}  // namespace det::launch
