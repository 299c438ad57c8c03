#pragma once
#include <det/collectives/topology.hpp>
#include <det/core/info.hpp>
#include <det/foundation/environment.hpp>

namespace det::core {

/// The rank of this process, the number of ranks, and its position among the nodes.
struct RankIdentity {
    int rank = 0;
    int size = 1;
    collectives::Topology topology;
    friend bool operator==(RankIdentity const&, RankIdentity const&) = default;
};

/// Determines the rank from the variables of the launcher: mpirun (OMPI_COMM_WORLD_* or PMI_*), else
/// horovodrun (HOROVOD_*), else srun, torchrun or deepspeed (RANK, WORLD_SIZE, LOCAL_RANK ...). Without a
/// launcher the process is the only rank. For mpirun and horovodrun the number of the node comes from `info`
/// in a run: mpirun sets none, and horovodrun's is wrong if nodes have different numbers of ranks. Outside of
/// a run a rank that mpirun has started is on node 0 of 1. RANK=0 and WORLD_SIZE=1 alone are a single rank.
/// Pure.
///
/// \param environment the variables of the process.
/// \param info the run, or nullopt outside of a run.
/// \return codes::misuse if a variable is missing, is not a number, or contradicts another one.
Result<RankIdentity> find_rank_identity(Environment const& environment, std::optional<Info> const& info);

}  // namespace det::core
