#include "tree_schedules.hpp"

#include <bit>
#include <optional>
#include <utility>

#include "steps.hpp"
#include "tree.hpp"

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

void add_segment(Schedule& schedule, Rank rank, TreePlace const& place, BlockRange segment) {
    if (place.below) add(schedule, Action::combine_below, *place.below, segment);
    if (place.above) add(schedule, Action::combine_above, *place.above, segment);
    if (place.parent) {
        add(schedule, Action::send, *place.parent, segment);
    } else {
        add(schedule, Action::finish, rank, segment);
    }
}

void pass_segment(Schedule& schedule, TreePlace const& place, BlockRange segment) {
    if (place.parent) add(schedule, Action::receive, *place.parent, segment);
    if (place.below) add(schedule, Action::send, *place.below, segment);
    if (place.above) add(schedule, Action::send, *place.above, segment);
}

/// What a rank says as a leaf it says first, and what it hears as a leaf it takes last: no piece of one tree
/// waits for a piece of the other on its way through all of it.
Schedule add_halves(Halves const& halves, Rank rank, int segments) {
    Schedule schedule{2 * segments};
    for (auto const& half : {halves.leaf, halves.inner}) {
        for (int i = 0; i < segments; ++i) add_segment(schedule, rank, half.place, one(half.first_block + i));
    }
    return schedule;
}

Schedule pass_halves(Halves const& halves, int segments) {
    Schedule schedule{2 * segments};
    for (auto const& half : {halves.inner, halves.leaf}) {
        for (int i = 0; i < segments; ++i) pass_segment(schedule, half.place, one(half.first_block + i));
    }
    return schedule;
}

Halves among_all(SchedulePlan const& plan) {
    return in_order(tree_place(plan.rank, plan.ranks, Tree::first),
                    tree_place(plan.rank, plan.ranks, Tree::second), plan.segments);
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

/// What the root does with each piece of both halves: `with(top, piece)`.
template <class With>
Schedule at_root(SchedulePlan const& plan, With const& with) {
    Rank const tops[] = {{tree_top(plan.ranks - 1, Tree::first).value + 1},
                         {tree_top(plan.ranks - 1, Tree::second).value + 1}};
    Schedule schedule{2 * plan.segments};
    for (int i = 0; i < plan.segments; ++i) {
        with(schedule, tops[0], one(i));
        with(schedule, tops[1], one(plan.segments + i));
    }
    return schedule;
}

/// Two ranks are no place for two trees.
bool is_double_tree(SchedulePlan const& plan) {
    return plan.algorithm == Algorithm::double_tree && plan.ranks > 2;
}

}  // namespace

Schedule pass_down(SchedulePlan const& plan) {
    if (is_double_tree(plan) && plan.rank != root) return pass_halves(under_root(plan), plan.segments);
    if (is_double_tree(plan)) {
        return at_root(plan, [](Schedule& schedule, Rank top, BlockRange piece) {
            add(schedule, Action::send, top, piece);
        });
    }
    auto const place = place_of(plan);
    Schedule schedule{plan.segments};
    for (int i = 0; i < plan.segments; ++i) {
        if (place.parent) add(schedule, Action::receive, *place.parent, one(i));
        for (auto const child : place.children) add(schedule, Action::send, child, one(i));
    }
    return schedule;
}

Schedule add_up(SchedulePlan const& plan) {
    if (is_double_tree(plan) && plan.rank != root)
        return add_halves(under_root(plan), plan.rank, plan.segments);
    if (is_double_tree(plan)) {
        return at_root(plan, [](Schedule& schedule, Rank top, BlockRange piece) {
            add(schedule, Action::combine_above, top, piece);
            add(schedule, Action::finish, root, piece);
        });
    }
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

Schedule add_up_double_tree(SchedulePlan const& plan) {
    return add_halves(among_all(plan), plan.rank, plan.segments);
}

Schedule pass_down_double_tree(SchedulePlan const& plan) {
    return pass_halves(among_all(plan), plan.segments);
}

}  // namespace det::collectives
