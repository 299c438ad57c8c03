#include "tree.hpp"

#include <bit>

namespace det::collectives {
namespace {

/// Positions [begin, end) of a subtree. On top is the one that the largest power of two divides: the only one
/// of its kind in the range, and odd ones end up as leaves.
struct Subtree {
    int begin;
    int end;

    bool is_empty() const { return begin >= end; }
    int top() const {
        auto const differing = static_cast<unsigned>((begin - 1) ^ (end - 1));
        auto const step = static_cast<int>(std::bit_floor(differing));
        return (end - 1) / step * step;
    }
    Subtree below() const { return {begin, top()}; }
    Subtree above() const { return {top() + 1, end}; }
};

int shift_of(Tree tree) { return tree == Tree::first ? 0 : 1; }

Rank rank_in(int ranks, Tree tree, int position) { return {(position - 1 - shift_of(tree) + ranks) % ranks}; }

}  // namespace

Rank tree_top(int ranks, Tree tree) { return rank_in(ranks, tree, Subtree{1, ranks + 1}.top()); }

TreePlace tree_place(Rank rank, int ranks, Tree tree) {
    auto const position_of = [&](int value) { return (value + shift_of(tree)) % ranks + 1; };
    auto const rank_at = [&](int position) { return rank_in(ranks, tree, position); };
    auto const top_of = [&](Subtree subtree) {
        return subtree.is_empty() ? std::nullopt : std::optional(rank_at(subtree.top()));
    };
    int const own = position_of(rank.value);
    TreePlace place;
    Subtree subtree{1, ranks + 1};
    while (subtree.top() != own) {
        place.parent = rank_at(subtree.top());
        subtree = own < subtree.top() ? subtree.below() : subtree.above();
    }
    place.below = top_of(subtree.below());
    place.above = top_of(subtree.above());
    return place;
}

}  // namespace det::collectives
