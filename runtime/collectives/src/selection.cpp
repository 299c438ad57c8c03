#include "selection.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <fmt/format.h>
#include <limits>

namespace det::collectives {
namespace {

constexpr int any = std::numeric_limits<int>::max();

constexpr std::size_t kib = 1024, mib = 1024 * kib;

using enum Algorithm;
using enum RankCount;

constexpr SelectionRow table[] = {
    {power_of_two, 2, 0, recursive_doubling},
    {power_of_two, 2, 1 * mib, ring},
    {power_of_two, 4, 0, recursive_doubling},
    {power_of_two, 4, 256 * kib, halving_doubling},
    {power_of_two, 4, 1 * mib, ring},
    {power_of_two, 16, 0, recursive_doubling},
    {power_of_two, 16, 128 * kib, halving_doubling},
    {power_of_two, any, 0, recursive_doubling},
    {power_of_two, any, 64 * kib, halving_doubling},
    {other, 3, 0, recursive_doubling},
    {other, 3, 16 * kib, double_tree},
    {other, 3, 128 * kib, ring},
    {other, 5, 0, recursive_doubling},
    {other, 5, 128 * kib, ring},
    {other, 7, 0, recursive_doubling},
    {other, 7, 64 * kib, double_tree},
    {other, 7, 256 * kib, ring},
    {other, 12, 0, recursive_doubling},
    {other, 12, 128 * kib, halving_doubling},
    {other, 12, 512 * kib, ring},
    {other, 24, 0, recursive_doubling},
    {other, 24, 128 * kib, halving_doubling},
    {other, 24, 1 * mib, ring},
    {other, 48, 0, recursive_doubling},
    {other, 48, 128 * kib, halving_doubling},
    {other, 48, 2 * mib, ring},
    {other, 96, 0, recursive_doubling},
    {other, 96, 128 * kib, halving_doubling},
    {other, 96, 4 * mib, ring},
    {other, any, 0, recursive_doubling},
    {other, any, 64 * kib, halving_doubling},
    {other, any, 16 * mib, ring},
};

constexpr std::array<std::string_view, algorithms> names{"recursive doubling", "ring", "halving and doubling",
                                                         "double tree"};

}  // namespace

std::string_view name_of(Algorithm algorithm) { return names[static_cast<std::size_t>(algorithm)]; }

std::span<SelectionRow const> selection_table() { return table; }

SelectionRow const& choose_allreduce(int ranks, std::size_t size_bytes) {
    auto const count = std::has_single_bit(static_cast<unsigned>(ranks)) ? power_of_two : other;
    SelectionRow const* chosen = nullptr;
    for (auto const& row : table) {
        if (row.count != count || row.ranks_max < ranks) continue;
        if (chosen != nullptr && row.ranks_max != chosen->ranks_max) break;  // rows for more ranks
        if (row.size_from_bytes <= size_bytes) chosen = &row;
    }
    assert(chosen != nullptr);  // each number of ranks has a row from 0 bytes on
    return *chosen;
}

std::string describe(SelectionRow const& row) {
    auto const ranks = row.ranks_max == any ? "more ranks" : fmt::format("up to {} ranks", row.ranks_max);
    return fmt::format("the fastest from {} on with {}{}", format_size(row.size_from_bytes), ranks,
                       row.count == power_of_two ? ", a power of two" : "");
}

int tree_segments(std::size_t size_bytes, std::size_t segment_bytes) {
    constexpr std::size_t segments_max = 4096;
    return static_cast<int>(std::clamp(size_bytes / 2 / segment_bytes, std::size_t{1}, segments_max));
}

}  // namespace det::collectives
