#include "schedule.hpp"

#include <cassert>
#include <utility>

#include "positions.hpp"
#include "steps.hpp"
#include "tree_schedules.hpp"

namespace det::collectives {
namespace {

/// Of ranks that a power of two leaves over, one gives its data to a neighbour first and gets the result in
/// the end.
Schedule recursive_doubling(Rank rank, int ranks) {
    Positions const positions(ranks);
    Schedule schedule;
    auto const all = one(0);
    if (!positions.has_position(rank)) {
        add(schedule, Action::send, {rank.value - 1}, all);
        add(schedule, Action::receive, {rank.value - 1}, all);
        return schedule;
    }
    Rank const partner{rank.value + 1};
    if (positions.is_paired(rank)) add(schedule, Action::combine_above, partner, all);
    for (int distance = 1; distance < positions.count(); distance *= 2) {
        auto const peer = positions.at(positions.of(rank) ^ distance);
        add(schedule, Action::send, peer, all);
        add(schedule, combining(rank, peer), peer, all);
    }
    add(schedule, Action::finish, rank, all);
    if (positions.is_paired(rank)) add(schedule, Action::send, partner, all);
    return schedule;
}

/// All that a rank can use, from both trees; then the same way back.
Schedule double_tree(Part const& part) {
    auto schedule = add_up_double_tree(part);
    append(schedule, pass_down_double_tree(part));
    return schedule;
}

/// An allgather by blocks that were combined before.
Algorithm way_back(Algorithm algorithm) {
    return algorithm == Algorithm::halving_doubling ? Algorithm::recursive_doubling : algorithm;
}

Part with(Part part, Algorithm algorithm) {
    part.algorithm = algorithm;
    return part;
}

bool is_tree(Algorithm algorithm) {
    return algorithm == Algorithm::binomial_tree || algorithm == Algorithm::chain ||
           algorithm == Algorithm::double_tree;
}

}  // namespace

Schedule allreduce_schedule(Part const& part) {
    if (part.algorithm == Algorithm::recursive_doubling) return recursive_doubling(part.rank, part.ranks);
    if (part.algorithm == Algorithm::double_tree) return double_tree(part);
    auto schedule = reduce_scatter_schedule(part);
    append(schedule, allgather_schedule(with(part, way_back(part.algorithm))));
    return schedule;
}

Schedule broadcast_schedule(Part const& part) {
    auto const seen = from_root(part);
    if (is_tree(part.algorithm)) return by_own_numbers(pass_down(seen), part);
    auto schedule = scatter_by_tree(seen);
    append(schedule, allgather_schedule(with(seen, way_back(part.algorithm))));
    return by_own_numbers(std::move(schedule), part);
}

Schedule reduce_schedule(Part const& part) {
    auto const seen = from_root(part);
    if (is_tree(part.algorithm)) return by_own_numbers(add_up(seen), part);
    auto schedule = reduce_scatter_schedule(seen);
    append(schedule, gather_by_tree(seen));
    return by_own_numbers(std::move(schedule), part);
}

Schedule gather_schedule(Part const& part) {
    Schedule schedule{part.ranks};
    if (part.rank != part.root) {
        add(schedule, Action::send, part.root, one(part.rank.value));
        return schedule;
    }
    for (int distance = 1; distance < part.ranks; ++distance) {
        int const from = wrap(part.root.value + distance, part.ranks);
        add(schedule, Action::receive, {from}, one(from));
    }
    return schedule;
}

/// Nothing depends on what comes in, so that a few parts go out before the first is waited for.
Schedule all_to_all_schedule(Part const& part) {
    constexpr int ahead = 4;
    Schedule schedule{2 * part.ranks};
    for (int distance = 1; distance < part.ranks + ahead; ++distance) {
        if (distance < part.ranks) {
            int const to = wrap(part.rank.value + distance, part.ranks);
            add(schedule, Action::send, {to}, one(to));
        }
        if (distance > ahead) {
            int const from = wrap(part.rank.value - (distance - ahead), part.ranks);
            add(schedule, Action::receive, {from}, one(part.ranks + from));
        }
    }
    return schedule;
}

Schedule schedule_of(Part const& part) {
    assert(part.ranks > 1 && part.segments > 0);
    switch (part.kind) {
        case Kind::broadcast_object:
        case Kind::broadcast:
            return broadcast_schedule(part);
        case Kind::reduce:
            return reduce_schedule(part);
        case Kind::reduce_scatter:
            return reduce_scatter_schedule(part);
        case Kind::allgather:
        case Kind::allgather_elements:
            return allgather_schedule(part);
        case Kind::gather:
            return gather_schedule(part);
        case Kind::all_to_all:
            return all_to_all_schedule(part);
        default:
            break;
    }
    return allreduce_schedule(part);
}

}  // namespace det::collectives
