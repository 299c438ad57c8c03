#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace det {

/// How a rank ended: nothing is wrong with it, or what.
struct RankOutcome {
    std::optional<int> signal;  // that ended it
    std::string complaint;      // empty: none
};

/// `body` on each rank in a process of its own, forked from this one, which must have no other threads. Ranks
/// that are still there when the time is over are killed, and their complaint says so.
std::vector<RankOutcome> run_rank_processes(int size, std::function<Status(Rank)> const& body,
                                            std::chrono::seconds limit = std::chrono::seconds(50));

/// BOOST_ERROR for each complaint.
void check_ranks(std::vector<RankOutcome> const& outcomes);

}  // namespace det
