#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace det::core {

/// Where ranks of one node meet that mpirun, horovodrun, torchrun or deepspeed has started outside of any
/// run: a directory of this user alone, the same for all of them, since it is named as the launcher names its
/// job, or as the port where its ranks meet. Nothing where there is no such name, or where DET_TRANSPORT asks
/// for something else.
std::optional<std::filesystem::path> find_launch_directory(Environment const& environment);

/// What ranks of a node meet under there, or in their run's directory: apart from those of a step, or of a
/// launcher, that runs beside theirs.
std::string meeting_name(Environment const& environment);

/// Makes it, unless another rank has. codes::unsafe_owner where others may write there.
Status make_private_directory(std::filesystem::path const& path);

}  // namespace det::core
