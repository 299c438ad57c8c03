#include "selection.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace det::collectives {
namespace {

constexpr int any = std::numeric_limits<int>::max();

constexpr SelectionRow table[] = {
    {any, 0, Algorithm::ring},
};

constexpr std::array<std::string_view, algorithms> names{"recursive doubling", "ring", "halving and doubling",
                                                         "double tree"};

}  // namespace

std::string_view name_of(Algorithm algorithm) { return names[static_cast<std::size_t>(algorithm)]; }

std::span<SelectionRow const> selection_table() { return table; }

Algorithm choose_allreduce(int ranks, std::size_t size_bytes) {
    auto chosen = Algorithm::ring;
    int row_ranks = 0;
    for (auto const& row : table) {
        if (row.ranks_max < ranks) continue;
        if (row_ranks != 0 && row.ranks_max != row_ranks) break;  // rows for more ranks
        row_ranks = row.ranks_max;
        if (row.size_from_bytes <= size_bytes) chosen = row.algorithm;
    }
    return chosen;
}

int tree_segments(std::size_t size_bytes, std::size_t segment_bytes) {
    constexpr std::size_t segments_max = 4096;
    return static_cast<int>(std::clamp(size_bytes / 2 / segment_bytes, std::size_t{1}, segments_max));
}

}  // namespace det::collectives
