#pragma once
#include <det/collectives/rank_group.hpp>

namespace det::collectives {

/// Runs any tensor operation of a single rank: copies the input to the output.
Status run_single_rank(TensorCall const& call);

}  // namespace det::collectives
