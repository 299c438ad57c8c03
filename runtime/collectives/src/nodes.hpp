#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/topology.hpp>

namespace det::collectives {

/// Which ranks sit on which node.
class Nodes {
public:
    /// Asks all ranks. An Error, on all of them, where what they say doesn't fit together.
    static Result<Nodes> gather(RankGroup& ranks, Topology const& topology);

    int count() const { return static_cast<int>(ranks_.size()); }
    /// In the order of their local ranks.
    std::vector<Rank> const& on(int node) const { return ranks_[static_cast<std::size_t>(node)]; }
    int node_of(Rank rank) const { return places_[static_cast<std::size_t>(rank.value)].node; }
    int local_rank_of(Rank rank) const { return places_[static_cast<std::size_t>(rank.value)].local_rank; }
    /// Every node has as many ranks as every other.
    bool are_even() const;
    /// The ranks of that number on all nodes, where all have one.
    std::vector<Rank> cross_ranks(int local_rank) const;

private:
    struct Place {
        int node = -1;
        int local_rank = -1;
    };
    std::vector<std::vector<Rank>> ranks_;  // by node
    std::vector<Place> places_;             // by rank
};

}  // namespace det::collectives
