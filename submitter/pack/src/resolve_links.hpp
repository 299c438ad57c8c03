#pragma once
#include <det/pack/context_tree.hpp>

#include <span>

#include "ignore.hpp"
#include "walk.hpp"

namespace det::pack {

/// Sorts the members by path and resolves their links. A link that leads out of its source is replaced by
/// what it points to, with a warning, if the link and everything that is packed for it belong to the user;
/// else it is reported. Warns of dangling links. An error ends the listing.
///
/// \param rules the ignored files of each source; their patterns also apply to what its links lead to
Status resolve_links(ContextTree& tree, std::span<IgnoreRules const> rules, Findings& findings);

}  // namespace det::pack
