#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/rank_end.hpp>

#include <vector>

namespace det::journal {

/// How ranks of a run failed, as the wrappers of all its nodes wrote it down so far; in no order.
Result<std::vector<RankEnd>> load_rank_ends(RunLayout const& run);

}  // namespace det::journal
