#include <det/collectives/topology.hpp>

#include <fmt/format.h>

namespace det::collectives {

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
