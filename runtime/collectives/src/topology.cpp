#include <det/collectives/topology.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::collectives {

Topology on_one_node(transport::Transport const& transport) {
    return {transport.rank().value, transport.size(), 0, 1};
}

Topology topology_of(std::vector<std::string> const& node_names, Rank rank) {
    auto const own = static_cast<std::size_t>(rank.value);
    std::vector<std::string> nodes;
    Topology topology{.local_rank = 0, .local_size = 0};
    for (std::size_t other = 0; other < node_names.size(); ++other) {
        auto const& name = node_names[other];
        if (std::ranges::find(nodes, name) == nodes.end()) nodes.push_back(name);
        if (name != node_names[own]) continue;
        ++topology.local_size;
        if (other < own) ++topology.local_rank;
    }
    topology.cross_rank = static_cast<int>(std::ranges::find(nodes, node_names[own]) - nodes.begin());
    topology.cross_size = static_cast<int>(nodes.size());
    return topology;
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
