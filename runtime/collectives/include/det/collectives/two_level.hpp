#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/topology.hpp>
#include <det/collectives/tuning.hpp>

namespace det::collectives {

/// A group for ranks on several nodes. Work within a node is done by the group `local`. Between nodes the
/// first ranks of all nodes communicate, or with large data the ranks with equal local ranks, concurrently.
/// Collective.
///
/// \param transport connects all ranks.
/// \param local the ranks of this node in the order of their local ranks; make_single_rank() if there is one.
Result<std::unique_ptr<RankGroup>> make_two_level(std::unique_ptr<transport::Transport> transport,
                                                  std::shared_ptr<RankGroup> local, Topology const& topology,
                                                  Tuning tuning = {});

}  // namespace det::collectives
