#include "algorithm_selection.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <fmt/format.h>
#include <limits>

namespace det::collectives {
namespace {

constexpr int any = std::numeric_limits<int>::max();
constexpr std::size_t kib = 1024, mib = 1024 * kib;

namespace tables {

using enum Algorithm;

constexpr SelectionRow allreduce[] = {
    {4, 0, recursive_doubling},   {4, 256 * kib, halving_doubling},  {4, 1 * mib, ring},
    {16, 0, recursive_doubling},  {16, 128 * kib, halving_doubling}, {16, 8 * mib, ring},
    {any, 0, recursive_doubling}, {any, 64 * kib, halving_doubling}, {any, 32 * mib, ring},
};
constexpr SelectionRow broadcast[] = {
    {4, 0, binomial_tree},
    {4, 256 * kib, halving_doubling},
    {4, 2 * mib, chain},
    {16, 0, binomial_tree},
    {16, 128 * kib, halving_doubling},
    {16, 2 * mib, double_tree},
    {16, 16 * mib, chain},
    {any, 0, binomial_tree},
    {any, 128 * kib, halving_doubling},
    {any, 4 * mib, double_tree},
    {any, 64 * mib, chain},
};
constexpr SelectionRow reduce[] = {
    {4, 0, binomial_tree},   {4, 256 * kib, halving_doubling},  {4, 2 * mib, chain},
    {16, 0, binomial_tree},  {16, 128 * kib, halving_doubling}, {16, 8 * mib, chain},
    {any, 0, binomial_tree}, {any, 64 * kib, halving_doubling}, {any, 32 * mib, chain},
};
constexpr SelectionRow reduce_scatter[] = {{any, 0, halving_doubling}};
constexpr SelectionRow allgather[] = {{any, 0, recursive_doubling}};
constexpr SelectionRow all_to_all[] = {{any, 0, pairs}};

constexpr Algorithm for_allreduce[] = {recursive_doubling, halving_doubling, ring};
constexpr Algorithm for_broadcast[] = {binomial_tree, halving_doubling, double_tree, chain};
constexpr Algorithm for_reduce[] = {binomial_tree, halving_doubling, chain};
constexpr Algorithm for_reduce_scatter[] = {halving_doubling};
constexpr Algorithm for_allgather[] = {recursive_doubling};
constexpr Algorithm for_all_to_all[] = {pairs};

}  // namespace tables

struct Choice {
    std::span<Algorithm const> algorithms;
    std::span<SelectionRow const> table;
};

Choice choice_for(Kind kind) {
    switch (kind) {
        case Kind::broadcast_object:
        case Kind::broadcast:
            return {tables::for_broadcast, tables::broadcast};
        case Kind::reduce:
            return {tables::for_reduce, tables::reduce};
        case Kind::reduce_scatter:
            return {tables::for_reduce_scatter, tables::reduce_scatter};
        case Kind::allgather_elements:
            return {tables::for_allgather, tables::allgather};
        case Kind::all_to_all:
            return {tables::for_all_to_all, tables::all_to_all};
        default:
            break;
    }
    return {tables::for_allreduce, tables::allreduce};
}

constexpr std::array<std::string_view, algorithms> algorithm_names{
    "recursive doubling", "ring", "halving and doubling", "double tree", "binomial tree", "chain", "pairs"};

}  // namespace

std::string_view name_of(Algorithm algorithm) { return algorithm_names[static_cast<std::size_t>(algorithm)]; }

std::span<Algorithm const> algorithms_of(Kind kind) { return choice_for(kind).algorithms; }

std::span<SelectionRow const> selection_table(Kind kind) { return choice_for(kind).table; }

SelectionRow const& choose(Kind kind, int ranks, std::size_t size_bytes) {
    SelectionRow const* chosen = nullptr;
    for (auto const& row : selection_table(kind)) {
        if (row.ranks_max < ranks) continue;
        if (chosen != nullptr && row.ranks_max != chosen->ranks_max) break;  // rows for more ranks
        if (row.size_from_bytes <= size_bytes) chosen = &row;
    }
    assert(chosen != nullptr);  // for each number of ranks there is a row that begins at 0 bytes
    return *chosen;
}

std::string describe(SelectionRow const& row) {
    auto const ranks = row.ranks_max == any ? "more ranks" : fmt::format("up to {} ranks", row.ranks_max);
    return fmt::format("the fastest from {} on with {}", format_size(row.size_from_bytes), ranks);
}

int segments_for(Algorithm algorithm, std::size_t size_bytes, std::size_t segment_bytes) {
    constexpr std::size_t segments_max = 4096;
    auto const of_each_tree = algorithm == Algorithm::double_tree ? size_bytes / 2 : size_bytes;
    return static_cast<int>(std::clamp(of_each_tree / segment_bytes, std::size_t{1}, segments_max));
}

}  // namespace det::collectives
