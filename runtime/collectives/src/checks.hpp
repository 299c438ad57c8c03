#pragma once
#include <det/collectives/rank_group.hpp>

namespace det::collectives {

/// Checks what one rank can find to be wrong with its call without asking others.
Status check(TensorCall const& call, int ranks);
Status check_root(Rank root, std::string_view action, int ranks);

}  // namespace det::collectives
