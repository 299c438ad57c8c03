#pragma once
#include <det/collectives/two_level.hpp>

#include <functional>

#include "../transport/rank_threads.hpp"
#include "collective_cases.hpp"

namespace det::collectives {

/// The number of ranks of each node.
using Shape = std::vector<int>;

/// Makes the group of a local rank. Called in the thread of the rank.
using LocalGroup = std::function<Result<std::unique_ptr<RankGroup>>(int local_rank)>;
/// Prepares the groups of a node with this number of ranks.
using MakeLocal = std::function<LocalGroup(int ranks)>;

/// Runs `body` on each rank of several nodes in a thread of its own. Returns the results in rank order.
inline std::vector<Status> run_nodes(Shape const& shape, Tuning const& tuning, MakeLocal const& make_local,
                                     std::function<Status(DistributedContext& context)> const& body) {
    struct RankSetup {
        Topology topology;
        LocalGroup local;
    };
    std::vector<RankSetup> setups;
    int const nodes = static_cast<int>(shape.size());
    for (int node = 0; node < nodes; ++node) {
        int const ranks = shape[static_cast<std::size_t>(node)];
        auto const local = make_local(ranks);
        for (int rank = 0; rank < ranks; ++rank) setups.push_back({{rank, ranks, node, nodes}, local});
    }
    return transport::run_ranks(static_cast<int>(setups.size()), [&](auto transport) -> Status {
        auto const& [topology, make] = setups[static_cast<std::size_t>(transport->rank().value)];
        DET_TRY_ASSIGN(auto made,
                       topology.local_size == 1 ? Result(make_single_rank()) : make(topology.local_rank));
        std::shared_ptr<RankGroup> const local(std::move(made));
        DET_TRY_ASSIGN(auto ranks, make_two_level(std::move(transport), local, topology, tuning));
        DET_TRY_ASSIGN(auto context, DistributedContext::make(std::move(ranks), topology, local));
        return body(context);
    });
}

}  // namespace det::collectives
