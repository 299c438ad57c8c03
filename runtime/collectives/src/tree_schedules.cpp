// The trees, all of which have rank 0 as their root.
//
// Binomial tree: the parent of a rank is the rank without its lowest set bit. The subtree of rank r is the
// range [r, r + lowest set bit of r), so the blocks of a subtree are adjacent in memory and travel as one
// message. Children are served in the order of their subtrees, the largest first, because its path is the
// longest. A reduce and a gather take the children in reverse: the smallest subtree is ready first. In a
// reduce the received data is then always the right operand, and the ranks are combined in ascending order.
//
// Double tree: half of the data goes through each of two in-order binary trees over the ranks 1 to p-1, as in
// P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35 (2009). An inner rank of a single tree sends everything twice while leaves send
// nothing. Here the second tree is the first one shifted by one rank: inner ranks have even positions, so no
// rank is an inner rank of both trees. If the number of positions is odd, one rank is a leaf of both.
//
// A rank handles the half in which it is an inner rank first, then the half in which it is a leaf. No rank
// waits in a cycle: in the first half a rank waits for its parent only, which is the root or an inner rank of
// the same tree in its own first half; in the second half it waits for ranks in their first half. If each
// rank alternated between the halves instead, each piece would wait for a piece of the other tree at every
// level.
//
// Reduce and allreduce use other algorithms: in the simulator a double tree is faster than these in few of
// 228 combinations of nodes and sizes (ALGORITHMS.md).
#include "tree_schedules.hpp"

#include <bit>
#include <optional>
#include <utility>

#include "schedule_steps.hpp"

namespace det::collectives {
namespace {

constexpr Rank tree_root{0};

/// A rank's neighbours in a tree whose root is rank 0.
struct Neighbours {
    std::optional<Rank> parent;
    std::vector<Rank> children;  // the one with the largest subtree first
};

/// The size of the binomial subtree whose first rank is `rank`: a power of two, which may reach beyond the
/// last rank.
int reach(Rank rank, int ranks) {
    if (rank == tree_root) return static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
    return rank.value & -rank.value;
}

Neighbours binomial_neighbours(Rank rank, int ranks) {
    Neighbours neighbours;
    if (rank != tree_root) neighbours.parent = Rank{rank.value - reach(rank, ranks)};
    for (int distance = reach(rank, ranks) / 2; distance > 0; distance /= 2) {
        if (rank.value + distance < ranks) neighbours.children.push_back({rank.value + distance});
    }
    return neighbours;
}

Neighbours chain_neighbours(Rank rank, int ranks) {
    Neighbours neighbours;
    if (rank != tree_root) neighbours.parent = Rank{rank.value - 1};
    if (rank.value + 1 < ranks) neighbours.children.push_back({rank.value + 1});
    return neighbours;
}

Neighbours neighbours_of(SchedulePlan const& plan) {
    return plan.algorithm == Algorithm::chain ? chain_neighbours(plan.rank, plan.ranks)
                                              : binomial_neighbours(plan.rank, plan.ranks);
}

BlockRange below(Rank rank, int ranks) {
    return {rank.value, std::min(rank.value + reach(rank, ranks), ranks)};
}

/// Positions [begin, end) of a subtree. Its top is the position that is divisible by the largest power of
/// two: with two such positions, a position between them would be divisible by a larger one. Each range
/// begins with an odd position, so an even position has positions below it and is an inner rank. An odd
/// position is the top only of a range of one position, so it is a leaf.
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

TreeNeighbours tree_neighbours(Rank rank, int ranks, Tree tree) {
    auto const position_of = [&](int value) { return (value + shift_of(tree)) % ranks + 1; };
    auto const rank_at = [&](int position) { return rank_in(ranks, tree, position); };
    auto const top_of = [&](Subtree subtree) {
        return subtree.is_empty() ? std::nullopt : std::optional(rank_at(subtree.top()));
    };
    int const own = position_of(rank.value);
    TreeNeighbours neighbours;
    Subtree subtree{1, ranks + 1};
    while (subtree.top() != own) {
        neighbours.parent = rank_at(subtree.top());
        subtree = own < subtree.top() ? subtree.below() : subtree.above();
    }
    neighbours.below = top_of(subtree.below());
    neighbours.above = top_of(subtree.above());
    return neighbours;
}

namespace {

/// One tree's half of the blocks, and a rank's neighbours in that tree.
struct Half {
    TreeNeighbours neighbours;
    int first_block;
};
/// An inner rank of one tree is a leaf of the other, so the work of all ranks is about equal.
struct Halves {
    Half inner;
    Half leaf;
};

Halves in_order(TreeNeighbours const& first, TreeNeighbours const& second, int segments) {
    Halves halves{{first, 0}, {second, segments}};
    if (!first.is_inner()) std::swap(halves.inner, halves.leaf);
    return halves;
}

void pass_segment(Schedule& schedule, TreeNeighbours const& neighbours, BlockRange segment) {
    if (neighbours.parent) add(schedule, Action::receive, *neighbours.parent, segment);
    if (neighbours.below) add(schedule, Action::send, *neighbours.below, segment);
    if (neighbours.above) add(schedule, Action::send, *neighbours.above, segment);
}

Schedule pass_halves(Halves const& halves, int segments) {
    Schedule schedule{2 * segments};
    for (auto const& half : {halves.inner, halves.leaf}) {
        for (int i = 0; i < segments; ++i) pass_segment(schedule, half.neighbours, one(half.first_block + i));
    }
    return schedule;
}

/// A rank's neighbours in a tree of all ranks except the root. The root is the parent of the tree's top.
TreeNeighbours neighbours_under_root(Rank rank, int ranks, Tree tree) {
    auto neighbours = tree_neighbours({rank.value - 1}, ranks - 1, tree);
    for (auto* neighbour : {&neighbours.parent, &neighbours.below, &neighbours.above}) {
        if (*neighbour) ++(*neighbour)->value;
    }
    if (!neighbours.parent) neighbours.parent = tree_root;
    return neighbours;
}

Halves under_root(SchedulePlan const& plan) {
    return in_order(neighbours_under_root(plan.rank, plan.ranks, Tree::first),
                    neighbours_under_root(plan.rank, plan.ranks, Tree::second), plan.segments);
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

Schedule broadcast_by_tree(SchedulePlan const& plan) {
    // Two trees need at least two ranks besides the root.
    if (plan.algorithm == Algorithm::double_tree && plan.ranks > 2)
        return plan.rank == tree_root ? double_tree_root(plan) : pass_halves(under_root(plan), plan.segments);
    auto const neighbours = neighbours_of(plan);
    Schedule schedule{plan.segments};
    for (int i = 0; i < plan.segments; ++i) {
        if (neighbours.parent) add(schedule, Action::receive, *neighbours.parent, one(i));
        for (auto const child : neighbours.children) add(schedule, Action::send, child, one(i));
    }
    return schedule;
}

Schedule reduce_by_tree(SchedulePlan const& plan) {
    auto const neighbours = neighbours_of(plan);
    Schedule schedule{plan.segments};
    for (int i = 0; i < plan.segments; ++i) {
        for (auto child = neighbours.children.rbegin(); child != neighbours.children.rend(); ++child)
            add(schedule, Action::combine_above, *child, one(i));
        auto const action = neighbours.parent ? Action::send : Action::finish;
        add(schedule, action, neighbours.parent.value_or(tree_root), one(i));
    }
    return schedule;
}

Schedule scatter_by_tree(SchedulePlan const& plan) {
    auto const neighbours = binomial_neighbours(plan.rank, plan.ranks);
    Schedule schedule{plan.ranks};
    if (neighbours.parent) add(schedule, Action::receive, *neighbours.parent, below(plan.rank, plan.ranks));
    for (auto const child : neighbours.children) add(schedule, Action::send, child, below(child, plan.ranks));
    return schedule;
}

Schedule gather_by_tree(SchedulePlan const& plan) {
    auto const neighbours = binomial_neighbours(plan.rank, plan.ranks);
    Schedule schedule{plan.ranks};
    for (auto child = neighbours.children.rbegin(); child != neighbours.children.rend(); ++child)
        add(schedule, Action::receive, *child, below(*child, plan.ranks));
    if (neighbours.parent) add(schedule, Action::send, *neighbours.parent, below(plan.rank, plan.ranks));
    return schedule;
}

}  // namespace det::collectives
