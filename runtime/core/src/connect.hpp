#pragma once
#include <det/core/context.hpp>
#include <det/core/rank_identity.hpp>

namespace det::core {

/// Connects this rank to all other ranks of the program: through shared memory within a node, and by the
/// transport of open_transport() between nodes. Collective; blocks until all ranks have called it.
Result<collectives::DistributedContext> connect(RankIdentity const& identity, std::optional<Info> const& info,
                                                ContextOptions const& options);

}  // namespace det::core
