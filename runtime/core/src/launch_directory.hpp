#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace det::core {

/// The environment variable that names a directory which the nodes share.
inline constexpr std::string_view rendezvous_variable = "DET_RENDEZVOUS_DIR";

/// Returns the directory in which the ranks of one node find each other if a launcher (mpirun, horovodrun,
/// torchrun, deepspeed, or srun with the plugin or wrapper) has started them outside of a run. Its name
/// contains the launcher's job name or rendezvous port, so all ranks of the job get the same path. Returns
/// nullopt if the launcher sets no such variable, or if DET_TRANSPORT is set.
std::optional<std::filesystem::path> find_launch_directory(Environment const& environment);

/// Returns the directory in which the ranks of one node find each other outside of a run, for a launcher's
/// job or for a group that the program names. `group` is the same on all ranks.
std::filesystem::path launch_directory(Environment const& environment, std::string group);

/// Returns the file name of the rendezvous socket of a group that the program names.
std::string socket_name_of_group(std::string group);

/// Returns the file name of the rendezvous socket of ranks that a launcher has started. The name contains the
/// Slurm job step, or the launcher's port if the launcher starts each rank in its own step, so that groups of
/// ranks that run at the same time have different sockets.
std::string rendezvous_socket_name(Environment const& environment);

/// Returns the directory for the files by which ranks of several nodes find each other outside of a run. The
/// nodes must share it: a directory of this user below DET_RENDEZVOUS_DIR, else ~/.cache/det-submit/ranks.
/// \return codes::misuse if neither DET_RENDEZVOUS_DIR nor HOME is set
Result<std::filesystem::path> find_rendezvous_directory(Environment const& environment);

/// Returns the name of a group's rendezvous file in find_rendezvous_directory().
std::string rendezvous_name(std::string const& group, std::string const& chief_address);

/// Creates the directory if it does not exist. Fails with codes::unsafe_owner if another user owns it or has
/// any access to it.
Status make_private_directory(std::filesystem::path const& path);

}  // namespace det::core
