#pragma once
#include <det/core/place.hpp>
#include <det/transport/transport.hpp>

#include "patience.hpp"

namespace det::core {

/// What several ranks talk through, as far as it was built: UCX where the run has a meeting (an experiment's
/// run has one) and the nodes know an address of the chief, else MPI. DET_TRANSPORT=ucx or mpi chooses.
Result<std::unique_ptr<transport::Transport>> open_transport(Place const& place,
                                                             std::optional<Info> const& info,
                                                             Environment const& environment,
                                                             Patience const& patience);

}  // namespace det::core
