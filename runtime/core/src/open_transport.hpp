#pragma once
#include <det/core/rank_identity.hpp>
#include <det/transport/transport.hpp>

#include "timeouts.hpp"

namespace det::core {

/// What several ranks talk through. Where the run has a meeting (an experiment's run has one) and the nodes
/// know an address of the chief: UCX, if it was built and all nodes have RDMA adapters, else our own sockets.
/// Elsewhere MPI, if it was built. DET_TRANSPORT=tcp, ucx or mpi chooses, the same on all ranks: they check
/// it.
Result<std::unique_ptr<transport::Transport>> open_transport(RankIdentity const& identity,
                                                             std::optional<Info> const& info,
                                                             Environment const& environment,
                                                             Timeouts const& timeouts);

}  // namespace det::core
