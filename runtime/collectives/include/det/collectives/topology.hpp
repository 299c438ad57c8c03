#pragma once
#include <det/transport/transport.hpp>

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
Topology single_node_topology(transport::Transport const& transport);

/// Fails with codes::misuse if the numbers contradict each other or the number of ranks.
/// \param rank for the message
Status check(Topology const& topology, Rank rank, int ranks);

}  // namespace det::collectives
