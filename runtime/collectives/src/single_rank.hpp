#pragma once
#include <det/collectives/rank_group.hpp>

namespace det::collectives {

/// What a single rank gets of what it puts in: all of it.
Status run_single_rank(TensorCall const& call);

}  // namespace det::collectives
