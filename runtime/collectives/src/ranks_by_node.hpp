#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/topology.hpp>

namespace det::collectives {

/// Which ranks run on which node.
class Nodes {
public:
    /// Gathers the topologies of all ranks. Collective. Fails on all ranks with codes::misuse if the
    /// topologies contradict each other.
    static Result<Nodes> gather(RankGroup& ranks, Topology const& topology);

    int count() const { return static_cast<int>(ranks_.size()); }
    /// The ranks of a node in the order of their local ranks.
    std::vector<Rank> const& on(int node) const { return ranks_[static_cast<std::size_t>(node)]; }
    int node_of(Rank rank) const { return locations_[static_cast<std::size_t>(rank.value)].node; }
    int local_rank_of(Rank rank) const { return locations_[static_cast<std::size_t>(rank.value)].local_rank; }
    /// Whether all nodes have the same number of ranks.
    bool have_equal_sizes() const;
    /// The ranks with this local rank, on the nodes that have one.
    std::vector<Rank> cross_ranks(int local_rank) const;

private:
    struct Location {
        int node = -1;
        int local_rank = -1;
    };
    std::vector<std::vector<Rank>> ranks_;  // by node
    std::vector<Location> locations_;       // by rank
};

}  // namespace det::collectives
