#include "selection.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <fmt/format.h>

#include "selection_tables.hpp"

namespace det::collectives {
namespace {

using enum Algorithm;
using enum RankCount;

constexpr Algorithm for_allreduce[] = {recursive_doubling, ring, halving_doubling, double_tree};
constexpr Algorithm for_reduce_scatter[] = {ring, halving_doubling};
constexpr Algorithm for_allgather[] = {ring, recursive_doubling};
constexpr Algorithm for_one_and_all[] = {binomial_tree, chain, halving_doubling, ring, double_tree};
constexpr Algorithm for_all_to_all[] = {pairs};

struct Choice {
    std::span<Algorithm const> algorithms;
    std::span<SelectionRow const> table;
};

Choice choice_for(Kind kind) {
    switch (kind) {
        case Kind::broadcast_object:
        case Kind::broadcast:
            return {for_one_and_all, tables::broadcast};
        case Kind::reduce:
            return {for_one_and_all, tables::reduce};
        case Kind::reduce_scatter:
            return {for_reduce_scatter, tables::reduce_scatter};
        case Kind::allgather_elements:
            return {for_allgather, tables::allgather};
        case Kind::all_to_all:
            return {for_all_to_all, tables::all_to_all};
        default:
            break;
    }
    return {for_allreduce, tables::allreduce};
}

constexpr std::array<std::string_view, algorithms> names{
    "recursive doubling", "ring", "halving and doubling", "double tree", "binomial tree", "chain", "pairs"};

}  // namespace

std::string_view name_of(Algorithm algorithm) { return names[static_cast<std::size_t>(algorithm)]; }

std::span<Algorithm const> algorithms_of(Kind kind) { return choice_for(kind).algorithms; }

std::span<SelectionRow const> selection_table(Kind kind) { return choice_for(kind).table; }

SelectionRow const& choose(Kind kind, int ranks, std::size_t size_bytes) {
    auto const count = std::has_single_bit(static_cast<unsigned>(ranks)) ? power_of_two : other;
    SelectionRow const* chosen = nullptr;
    for (auto const& row : selection_table(kind)) {
        if (row.count != count || row.ranks_max < ranks) continue;
        if (chosen != nullptr && row.ranks_max != chosen->ranks_max) break;  // rows for more ranks
        if (row.size_from_bytes <= size_bytes) chosen = &row;
    }
    assert(chosen != nullptr);  // each number of ranks has a row from 0 bytes on
    return *chosen;
}

std::string describe(SelectionRow const& row) {
    auto const ranks =
        row.ranks_max == tables::any ? "more ranks" : fmt::format("up to {} ranks", row.ranks_max);
    return fmt::format("the fastest from {} on with {}{}", format_size(row.size_from_bytes), ranks,
                       row.count == power_of_two ? ", a power of two" : "");
}

int segments_for(Algorithm algorithm, std::size_t size_bytes, std::size_t segment_bytes) {
    constexpr std::size_t segments_max = 4096;
    auto const of_each_tree = algorithm == Algorithm::double_tree ? size_bytes / 2 : size_bytes;
    return static_cast<int>(std::clamp(of_each_tree / segment_bytes, std::size_t{1}, segments_max));
}

}  // namespace det::collectives
