#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/topology.hpp>
#include <det/collectives/tuning.hpp>

namespace det::collectives {

/// Makes a group for ranks on several nodes. The group `local` does the work within a node. Between nodes, in
/// general only the first rank of each node communicates. If all nodes have the same number of ranks, there
/// are two exceptions: in an allreduce of large data, the ranks with the same local rank communicate with
/// each other, concurrently for all local ranks; a reduce and a broadcast go through the ranks with the
/// root's local rank. Operations that these steps do not suit (ALGORITHMS.md) go between all ranks at once.
/// Collective.
///
/// \param transport connects all ranks.
/// \param local the ranks of this node in the order of their local ranks; make_single_rank() for a single
///     rank.
/// \return codes::misuse if the topologies contradict each other, rank 0 is not the first rank of the
///     first node, or Tuning::segment_bytes is 0; an error of the transport.
Result<std::unique_ptr<RankGroup>> make_two_level(std::unique_ptr<transport::Transport> transport,
                                                  std::shared_ptr<RankGroup> local, Topology const& topology,
                                                  Tuning tuning = {});

}  // namespace det::collectives
