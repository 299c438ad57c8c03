#pragma once
#include <det/foundation/environment.hpp>
#include <det/launch/node/cpu_binding.hpp>

#include <filesystem>
#include <string>

namespace det::launch::wrap_rank {

/// Binds this process, and so its rank, to the CPUs that DET_BIND (slurm.bind) gives the rank. Without the
/// variable, the process stays where Slurm or the launcher has put it.
void bind_rank(node::RankOnNode rank, Environment const& environment);

/// Appends the CPUs of this process to the file of the node's ranks. Errors are ignored.
/// \param log the log of the node
void record_placement(std::string const& rank, node::RankOnNode position, std::filesystem::path const& log,
                      Environment const& environment);

}  // namespace det::launch::wrap_rank
