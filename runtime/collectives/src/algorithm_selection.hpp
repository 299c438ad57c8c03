#pragma once
#include <det/collectives/call.hpp>
#include <det/collectives/tuning.hpp>

#include <span>
#include <string>

namespace det::collectives {

/// The algorithm for data of at least `size_from_bytes` and at most `ranks_max` ranks.
struct SelectionRow {
    int ranks_max;
    std::size_t size_from_bytes;
    Algorithm algorithm;
};

/// The algorithms that an operation supports.
std::span<Algorithm const> algorithms_of(Kind kind);

/// Rows sorted by ranks, then by size. The size is that of the input of a rank or of its output, whichever is
/// larger. `collectives-crossover` (tests/simulation) shows where each row is the fastest. A test fails for a
/// row that is the fastest nowhere, unless a benchmark keeps it (ALGORITHMS.md).
std::span<SelectionRow const> selection_table(Kind kind);

/// The row for these ranks and this size: the same on all ranks, because it depends on nothing else.
SelectionRow const& choose(Kind kind, int ranks, std::size_t size_bytes);

/// Formats the row for messages, for example "the fastest from 256.0 KiB on with up to 4 ranks".
std::string describe(SelectionRow const& row);

/// The number of pieces (SchedulePlan::segments) in which data goes through a tree or a chain.
int segments_for(Algorithm algorithm, std::size_t size_bytes, std::size_t segment_bytes);

}  // namespace det::collectives
