#pragma once
#include <det/collectives/rank_group.hpp>

namespace det::collectives {

/// What a rank can see to be wrong on its own, before anybody else is asked.
Status check(TensorCall const& call, int ranks);
Status check_root(Rank root, std::string_view action, int ranks);

}  // namespace det::collectives
