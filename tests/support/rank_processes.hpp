#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace det {

/// How a rank process ended.
struct RankOutcome {
    std::optional<int> signal;  // the signal that ended it
    std::string error_text;     // error text; empty: success
};

/// Forks one process per rank, which runs `body`. The calling process must have no other threads. Ranks that
/// run longer than `limit` are killed; their outcome then has an error text.
std::vector<RankOutcome> run_rank_processes(int size, std::function<Status(Rank)> const& body,
                                            std::chrono::seconds limit = std::chrono::seconds(50));

/// Calls BOOST_ERROR for each signal and each error text.
void check_ranks(std::vector<RankOutcome> const& outcomes);

}  // namespace det
