#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

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

/// Fails with codes::misuse if the numbers contradict each other or the number of ranks.
/// \param rank for the message
Status check(Topology const& topology, Rank rank, int ranks);

}  // namespace det::collectives
