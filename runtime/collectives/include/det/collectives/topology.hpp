#pragma once
#include <det/protocol/task_identity.hpp>
#include <det/transport/transport.hpp>

#include <string>
#include <vector>

namespace det::collectives {

/// Where a rank sits: local counts within its node, cross counts the nodes. Nodes may hold different numbers.
struct Topology {
    int local_rank = 0;
    int local_size = 1;
    int cross_rank = 0;
    int cross_size = 1;
    friend bool operator==(Topology const&, Topology const&) = default;
};

/// All ranks of the transport on one node.
Topology on_one_node(transport::Transport const& transport);

/// Nodes are numbered in the order of their first ranks. node_names: of each rank's node, in the order of
/// ranks.
Topology topology_of(std::vector<std::string> const& node_names, Rank rank);

/// What Slurm says of this task; an Error where the transport sees other ranks, as it does when a program was
/// started without the process manager that its MPI needs and every task believes to be alone.
Result<Topology> topology_of(TaskIdentity const& task, transport::Transport const& transport);

/// An Error where the numbers contradict each other or the rank.
Status check(Topology const& topology, Rank rank, int ranks);

}  // namespace det::collectives
