#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/rank_end.hpp>

#include <vector>

namespace det::journal {

/// Reads the failures of ranks that the wrappers on all nodes have recorded so far. Unordered.
Result<std::vector<RankEnd>> load_rank_ends(RunLayout const& run);

}  // namespace det::journal
