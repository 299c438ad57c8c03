#pragma once
#include <det/core/rank_identity.hpp>
#include <det/transport/transport.hpp>

#include "timeouts.hpp"

namespace det::core {

/// Opens the transport between several ranks. If the run has a rendezvous file (every experiment's run has
/// one) and the address of the chief is known: UCX if it was built and all nodes have RDMA adapters, else our
/// own TCP sockets. Otherwise MPI, if it was built. DET_TRANSPORT=tcp, ucx or mpi overrides the choice and
/// must be the same on all ranks, which is checked.
Result<std::unique_ptr<transport::Transport>> open_transport(RankIdentity const& identity,
                                                             std::optional<Info> const& info,
                                                             Environment const& environment,
                                                             Timeouts const& timeouts);

}  // namespace det::core
