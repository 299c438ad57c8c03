#include <det/collectives/topology.hpp>

#include <fmt/format.h>

namespace det::collectives {

Topology on_one_node(transport::Transport const& transport) {
    return {transport.rank().value, transport.size(), 0, 1};
}

Result<Topology> topology_of(TaskIdentity const& task, transport::Transport const& transport) {
    if (task.rank != transport.rank().value || task.size != transport.size()) {
        return Error{codes::transport,
                     fmt::format("Slurm says that this is rank {} of {}, the transport rank {} of {}",
                                 task.rank, task.size, transport.rank().value, transport.size()),
                     "start the ranks with 'srun --mpi=pmix' or what your MPI asks for ('srun --mpi=list')"};
    }
    return Topology{task.local_rank, task.local_size, task.cross_rank, task.cross_size};
}

Status check(Topology const& topology, Rank rank, int ranks) {
    bool const local_fits =
        topology.local_rank >= 0 && topology.local_rank < topology.local_size && topology.local_size <= ranks;
    bool const cross_fits =
        topology.cross_rank >= 0 && topology.cross_rank < topology.cross_size && topology.cross_size <= ranks;
    if (local_fits && cross_fits) return Ok{};
    return Error{codes::misuse, fmt::format("rank {} of {} cannot be local rank {} of {} on node {} of {}",
                                            rank.value, ranks, topology.local_rank, topology.local_size,
                                            topology.cross_rank, topology.cross_size)};
}

}  // namespace det::collectives
