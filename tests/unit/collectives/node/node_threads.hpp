#pragma once
#include <det/collectives/distributed_context.hpp>
#include <det/collectives/node/node_group.hpp>

#include <functional>
#include <thread>

#include "check_result.hpp"

namespace det::collectives::node {

using ContextBody = std::function<Status(collectives::DistributedContext& context)>;

inline Result<collectives::DistributedContext> open_context(SharedMemory const& memory, int rank, int ranks,
                                                            Options options) {
    DET_TRY_ASSIGN(auto group, map_and_join(memory, Rank{rank}, std::move(options)));
    return collectives::DistributedContext::make(std::move(group), {rank, ranks, 0, 1});
}

/// Runs `body` on each rank in a thread of its own. Returns the results in rank order.
inline std::vector<Status> run_node_threads(int ranks, Geometry const& geometry, ContextBody const& body,
                                            Options const& options = {.members = Members::threads}) {
    auto const memory = must(create_shared_memory(ranks, geometry));
    std::vector<Status> results(static_cast<std::size_t>(ranks), Status(Ok{}));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            auto context = open_context(memory, rank, ranks, options);
            auto& result = results[static_cast<std::size_t>(rank)];
            result = context ? body(*context) : Status(context.error());
        });
    }
    for (auto& thread : threads) thread.join();
    return results;
}

}  // namespace det::collectives::node
