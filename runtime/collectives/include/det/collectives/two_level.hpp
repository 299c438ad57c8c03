#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/topology.hpp>
#include <det/collectives/tuning.hpp>

namespace det::collectives {

/// Ranks on several nodes. What can be done within a node is done there, by `local`: the ranks of this node
/// in the order of their local ranks, make_single_rank() where there is one. Between nodes talk the first ranks of
/// all nodes, or, with much data, ranks of the same number on all nodes side by side.
///
/// Collective: all ranks make it together.
Result<std::unique_ptr<RankGroup>> make_two_level(std::unique_ptr<transport::Transport> transport,
                                                  std::shared_ptr<RankGroup> local, Topology const& topology,
                                                  Tuning tuning = {});

}  // namespace det::collectives
