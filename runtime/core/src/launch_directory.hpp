#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace det::core {

/// The rendezvous directory for ranks of one node that mpirun, horovodrun, torchrun or deepspeed has started
/// outside of a run. It is private to the user. Its name contains the launcher's job name or rendezvous port,
/// so all ranks of the job find the same directory. Returns nullopt if the launcher sets no such name, or if
/// DET_TRANSPORT selects another transport.
std::optional<std::filesystem::path> find_launch_directory(Environment const& environment);

/// The file name of the rendezvous socket in that directory or in the run's directory. It differs between job
/// steps and launchers that run at the same time.
std::string meeting_name(Environment const& environment);

/// Creates the directory if it does not exist. Fails with codes::unsafe_owner if other users can write to it.
Status make_private_directory(std::filesystem::path const& path);

}  // namespace det::core
