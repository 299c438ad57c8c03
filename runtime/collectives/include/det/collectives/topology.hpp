#pragma once
#include <det/protocol/task_identity.hpp>
#include <det/transport/transport.hpp>

#include <string>
#include <vector>

namespace det::collectives {

/// The position of a rank: `local` numbers the ranks of its node, `cross` numbers the nodes. Nodes may have
/// different numbers of ranks.
struct Topology {
    int local_rank = 0;
    int local_size = 1;
    int cross_rank = 0;
    int cross_size = 1;
    friend bool operator==(Topology const&, Topology const&) = default;
};

/// The topology in which all ranks of the transport are on one node.
Topology on_one_node(transport::Transport const& transport);

/// The topology by node names. Nodes are numbered in the order of their first ranks.
/// \param node_names the name of each rank's node, in rank order.
Topology topology_of(std::vector<std::string> const& node_names, Rank rank);

/// The topology of a Slurm task. Fails if the transport's rank or number of ranks differs from the task's.
/// This happens if MPI runs without the process manager that it needs: each task is then the only rank of its
/// MPI.
Result<Topology> topology_of(TaskIdentity const& task, transport::Transport const& transport);

/// Fails if the numbers contradict each other or the rank.
Status check(Topology const& topology, Rank rank, int ranks);

}  // namespace det::collectives
