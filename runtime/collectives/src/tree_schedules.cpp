#include "tree_schedules.hpp"

#include <bit>
#include <optional>
#include <utility>

#include "steps.hpp"

namespace det::collectives {
namespace {

constexpr Rank root{0};

/// Whom a rank hears from and whom it tells, where rank 0 tells all.
struct Place {
    std::optional<Rank> parent;
    std::vector<Rank> children;  // the one with the most below it first
};

/// How many ranks, from this one on, are below it in a binomial tree: a power of two, cut where ranks end.
int reach(Rank rank, int ranks) {
    if (rank == root) return static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
    return rank.value & -rank.value;
}

Place binomial_place(Rank rank, int ranks) {
    Place place;
    if (rank != root) place.parent = Rank{rank.value - reach(rank, ranks)};
    for (int distance = reach(rank, ranks) / 2; distance > 0; distance /= 2) {
        if (rank.value + distance < ranks) place.children.push_back({rank.value + distance});
    }
    return place;
}

Place chain_place(Rank rank, int ranks) {
    Place place;
    if (rank != root) place.parent = Rank{rank.value - 1};
    if (rank.value + 1 < ranks) place.children.push_back({rank.value + 1});
    return place;
}

Place place_of(SchedulePlan const& plan) {
    return plan.algorithm == Algorithm::chain ? chain_place(plan.rank, plan.ranks)
                                              : binomial_place(plan.rank, plan.ranks);
}

BlockRange below(Rank rank, int ranks) {
    return {rank.value, std::min(rank.value + reach(rank, ranks), ranks)};
}

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

namespace {

/// A tree's half of the blocks, and a rank's place there.
struct Half {
    TreePlace place;
    int first_block;
};
/// Who has children in one tree has none in the other, so that each rank sends and receives about twice the
/// data.
struct Halves {
    Half inner;
    Half leaf;
};

Halves in_order(TreePlace const& first, TreePlace const& second, int segments) {
    Halves halves{{first, 0}, {second, segments}};
    if (!first.is_inner()) std::swap(halves.inner, halves.leaf);
    return halves;
}

void pass_segment(Schedule& schedule, TreePlace const& place, BlockRange segment) {
    if (place.parent) add(schedule, Action::receive, *place.parent, segment);
    if (place.below) add(schedule, Action::send, *place.below, segment);
    if (place.above) add(schedule, Action::send, *place.above, segment);
}

/// A rank takes what it receives as a leaf last. Otherwise each piece would wait, at every level, for a piece
/// of the other tree.
Schedule pass_halves(Halves const& halves, int segments) {
    Schedule schedule{2 * segments};
    for (auto const& half : {halves.inner, halves.leaf}) {
        for (int i = 0; i < segments; ++i) pass_segment(schedule, half.place, one(half.first_block + i));
    }
    return schedule;
}

/// In a tree of all ranks but the root, which stands above its top.
TreePlace place_under_root(Rank rank, int ranks, Tree tree) {
    auto place = tree_place({rank.value - 1}, ranks - 1, tree);
    for (auto* neighbour : {&place.parent, &place.below, &place.above}) {
        if (*neighbour) ++(*neighbour)->value;
    }
    if (!place.parent) place.parent = root;
    return place;
}

Halves under_root(SchedulePlan const& plan) {
    return in_order(place_under_root(plan.rank, plan.ranks, Tree::first),
                    place_under_root(plan.rank, plan.ranks, Tree::second), plan.segments);
}

/// The root sends each piece of both halves to the top of its tree.
Schedule double_tree_root(SchedulePlan const& plan) {
    Rank const tops[] = {{tree_top(plan.ranks - 1, Tree::first).value + 1},
                         {tree_top(plan.ranks - 1, Tree::second).value + 1}};
    Schedule schedule{2 * plan.segments};
    for (int i = 0; i < plan.segments; ++i) {
        add(schedule, Action::send, tops[0], one(i));
        add(schedule, Action::send, tops[1], one(plan.segments + i));
    }
    return schedule;
}

}  // namespace

Schedule pass_down(SchedulePlan const& plan) {
    // Two ranks have no place for two trees.
    if (plan.algorithm == Algorithm::double_tree && plan.ranks > 2)
        return plan.rank == root ? double_tree_root(plan) : pass_halves(under_root(plan), plan.segments);
    auto const place = place_of(plan);
    Schedule schedule{plan.segments};
    for (int i = 0; i < plan.segments; ++i) {
        if (place.parent) add(schedule, Action::receive, *place.parent, one(i));
        for (auto const child : place.children) add(schedule, Action::send, child, one(i));
    }
    return schedule;
}

Schedule add_up(SchedulePlan const& plan) {
    auto const place = place_of(plan);
    Schedule schedule{plan.segments};
    for (int i = 0; i < plan.segments; ++i) {
        for (auto child = place.children.rbegin(); child != place.children.rend(); ++child)
            add(schedule, Action::combine_above, *child, one(i));
        auto const action = place.parent ? Action::send : Action::finish;
        add(schedule, action, place.parent.value_or(root), one(i));
    }
    return schedule;
}

Schedule scatter_by_tree(SchedulePlan const& plan) {
    auto const place = binomial_place(plan.rank, plan.ranks);
    Schedule schedule{plan.ranks};
    if (place.parent) add(schedule, Action::receive, *place.parent, below(plan.rank, plan.ranks));
    for (auto const child : place.children) add(schedule, Action::send, child, below(child, plan.ranks));
    return schedule;
}

Schedule gather_by_tree(SchedulePlan const& plan) {
    auto const place = binomial_place(plan.rank, plan.ranks);
    Schedule schedule{plan.ranks};
    for (auto child = place.children.rbegin(); child != place.children.rend(); ++child)
        add(schedule, Action::receive, *child, below(*child, plan.ranks));
    if (place.parent) add(schedule, Action::send, *place.parent, below(plan.rank, plan.ranks));
    return schedule;
}

}  // namespace det::collectives
