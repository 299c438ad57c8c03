#pragma once
#include <det/collectives/rank_group.hpp>

namespace det::collectives {

/// Checks the arguments of a call as far as a rank can without communication. Fails with codes::misuse.
Status check(TensorCall const& call, int ranks);
Status check_root(Rank root, std::string_view action, int ranks);

}  // namespace det::collectives
