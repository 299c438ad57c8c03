#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/cluster_info.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::launchers {

/// What a launcher on one node is to do.
struct LaunchPlan {
    std::vector<std::string> argv;  // empty: nothing, another node starts this node's ranks
    Environment environment;
};

/// `det-launch mpi [MPIRUN_OPTION... --] CMD...`: Open MPI's mpirun on the chief's node starts all ranks,
/// each under det-wrap-rank; it reaches the other nodes by srun, inside the job. Pure.
Result<LaunchPlan> plan_mpi(std::vector<std::string> const& arguments, RendezvousInfo const& rendezvous,
                            Environment environment, std::filesystem::path const& wrap_rank);

}  // namespace det::launchers
