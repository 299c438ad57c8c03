#pragma once
#include <det/core/rank_identity.hpp>
#include <det/transport/transport.hpp>

#include "timeouts.hpp"

namespace det::core {

/// Opens the transport between several ranks. If the run has a rendezvous file (every run of an experiment
/// has one) and the address of the chief is known, the transport is UCX if all nodes have RDMA adapters and
/// can load UCX, else TCP sockets. Otherwise it is MPI. DET_TRANSPORT=tcp, ucx or mpi overrides the choice
/// and must be the same on all ranks; ranks with different choices of tcp and ucx get an Error.
Result<std::unique_ptr<transport::Transport>> open_transport(RankIdentity const& identity,
                                                             std::optional<Info> const& info,
                                                             Environment const& environment,
                                                             Timeouts const& timeouts);

}  // namespace det::core
