#pragma once
#include <det/experiment/query_all_jobs.hpp>
#include <det/queue/moves.hpp>
#include <det/slurm/cluster_config.hpp>

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"

namespace det::cli {

/// A requested move: ID.OPERATION=VALUE for `job update-batch`; other commands make it from their arguments.
struct MoveRequest {
    std::string id, operation, value;
};

/// What moves are planned from: Slurm's configuration, the queue, and the rights of the caller.
struct MoveContext {
    Session& session;
    slurm::ClusterConfig config;
    queue::ExperimentJobOwner owner;
    queue::Caller caller;
    experiment::JobsSnapshot snapshot;
};

/// Asks Slurm for the configuration and the queue.
/// \param rights "owner" or "operator"; nullopt: operator for root and SlurmUser, owner for all others
Result<MoveContext> read_move_context(std::optional<std::string> const& rights, Session& session);

/// \return What the items ask of the queue, or the errors of all items.
Result<std::vector<queue::Request>, Diagnostics> make_requests(MoveContext const& context,
                                                               std::vector<MoveRequest> const& items);

}  // namespace det::cli
