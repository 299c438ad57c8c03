#include "ranks_by_node.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace det::collectives {

Result<Nodes> Nodes::gather(RankGroup& ranks, Topology const& topology) {
    std::string own(sizeof topology, '\0');
    std::memcpy(own.data(), &topology, sizeof topology);
    DET_TRY_ASSIGN(auto const topologies, ranks.allgather(std::move(own), Ok{}));
    Nodes nodes;
    nodes.ranks_.resize(static_cast<std::size_t>(topology.cross_size));
    nodes.locations_.resize(topologies.size());
    for (std::size_t rank = 0; rank < topologies.size(); ++rank) {
        Topology theirs;
        if (topologies[rank].size() != sizeof theirs)
            return Error{codes::misuse, fmt::format("rank {} has sent no valid topology", rank)};
        std::memcpy(&theirs, topologies[rank].data(), sizeof theirs);
        if (theirs.cross_size != topology.cross_size || theirs.cross_rank < 0 ||
            theirs.cross_rank >= theirs.cross_size) {
            return Error{codes::misuse,
                         fmt::format("rank {} is on node {} of {}, and other ranks have {} nodes", rank,
                                     theirs.cross_rank, theirs.cross_size, topology.cross_size)};
        }
        nodes.locations_[rank] = {theirs.cross_rank, theirs.local_rank};
        nodes.ranks_[static_cast<std::size_t>(theirs.cross_rank)].push_back({static_cast<int>(rank)});
    }
    for (auto& on_node : nodes.ranks_) {
        std::ranges::sort(on_node, {}, [&](Rank rank) { return nodes.local_rank_of(rank); });
        for (std::size_t i = 0; i < on_node.size(); ++i) {
            if (nodes.local_rank_of(on_node[i]) != static_cast<int>(i)) {
                return Error{codes::misuse,
                             fmt::format("the local rank of rank {} is {}: it should be {}", on_node[i].value,
                                         nodes.local_rank_of(on_node[i]), i)};
            }
        }
        if (on_node.empty()) return Error{codes::misuse, "a node has no ranks"};
    }
    return nodes;
}

bool Nodes::have_equal_sizes() const {
    return std::ranges::all_of(ranks_,
                               [&](auto const& on_node) { return on_node.size() == ranks_[0].size(); });
}

std::vector<Rank> Nodes::cross_ranks(int local_rank) const {
    std::vector<Rank> ranks;
    for (auto const& on_node : ranks_) {
        auto const index = static_cast<std::size_t>(local_rank);
        if (index < on_node.size()) ranks.push_back(on_node[index]);
    }
    return ranks;
}

}  // namespace det::collectives
