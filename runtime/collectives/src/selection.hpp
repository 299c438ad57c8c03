#pragma once
#include <det/collectives/tuning.hpp>

#include <span>
#include <string>

namespace det::collectives {

/// Where an algorithm is the fastest: from this size on, with up to this many ranks.
struct SelectionRow {
    int ranks_max;
    std::size_t size_from_bytes;
    Algorithm algorithm;
};

/// By ranks, then by size; made by `collectives-crossover` (tests/simulation).
std::span<SelectionRow const> selection_table();

/// The same on all ranks: by the ranks and the size alone.
Algorithm choose_allreduce(int ranks, std::size_t size_bytes);

/// In how many pieces a tree passes on its half.
int tree_segments(std::size_t size_bytes, std::size_t segment_bytes);

}  // namespace det::collectives
