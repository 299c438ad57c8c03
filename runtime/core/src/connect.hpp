#pragma once
#include <det/core/context.hpp>
#include <det/core/rank_identity.hpp>

namespace det::core {

/// The ranks of this program, together: those of a node through its memory, nodes by what open_transport
/// finds.
Result<collectives::DistributedContext> connect(RankIdentity const& identity, std::optional<Info> const& info,
                                                ContextOptions const& options);

}  // namespace det::core
