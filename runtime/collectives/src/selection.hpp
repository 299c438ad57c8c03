#pragma once
#include <det/collectives/call.hpp>
#include <det/collectives/tuning.hpp>

#include <span>
#include <string>

namespace det::collectives {

/// The algorithm for data from `size_from_bytes` on, with at most `ranks_max` ranks.
struct SelectionRow {
    int ranks_max;
    std::size_t size_from_bytes;
    Algorithm algorithm;
};

/// The algorithms of an operation on elements.
std::span<Algorithm const> algorithms_of(Kind kind);

/// Rows by ranks, then by size: the bytes that all ranks put in or have in the end. `collectives-crossover`
/// (tests/simulation) shows where each row wins, and a test fails for a row that does not win.
std::span<SelectionRow const> selection_table(Kind kind);

/// The row for these ranks and this size: the same on all ranks, because it depends on nothing else.
SelectionRow const& choose(Kind kind, int ranks, std::size_t size_bytes);

/// "the fastest from 256.0 KiB on with up to 4 ranks": for messages.
std::string describe(SelectionRow const& row);

/// The number of pieces (SchedulePlan::segments) in which data goes through a tree or a chain.
int segments_for(Algorithm algorithm, std::size_t size_bytes, std::size_t segment_bytes);

}  // namespace det::collectives
