#pragma once
#include <det/launch/node/container_call.hpp>

#include <functional>

namespace det::launch {

/// Returns the process that runs the command in the container of the experiment to which DET_RUN_DIR belongs,
/// or the command itself if the experiment has no container. Creates the mount points and a credentials file,
/// which only this user can read. May import the image, which takes minutes; `log` gets a line about that.
Result<node::ContainerProcess> prepare_container(std::vector<std::string> const& command,
                                                 Environment const& environment,
                                                 std::filesystem::path const& programs,
                                                 std::function<void(std::string_view)> log);

}  // namespace det::launch
