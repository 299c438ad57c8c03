#include "schedule.hpp"

#include <bit>
#include <cassert>
#include <utility>

#include "schedule_steps.hpp"
#include "tree_schedules.hpp"

namespace det::collectives {
namespace {

/// Maps the ranks, in rank order, to a power of two of positions. Among the first 2 * paired ranks, each even
/// rank has a position and also represents the odd rank above it.
class Positions {
public:
    explicit Positions(int ranks)
        : count_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), paired_(ranks - count_) {}

    int count() const { return count_; }
    bool is_paired(Rank rank) const { return rank.value < 2 * paired_; }
    bool has_position(Rank rank) const { return !is_paired(rank) || rank.value % 2 == 0; }
    int of(Rank rank) const { return is_paired(rank) ? rank.value / 2 : rank.value - paired_; }
    Rank at(int position) const { return {position < paired_ ? 2 * position : position + paired_}; }

private:
    int count_;
    int paired_;
};

/// If the number of ranks is not a power of two, a rank without a position first sends its data to the rank
/// below it, and receives the result from that rank at the end.
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

void append(Schedule& schedule, Schedule const& rest) {
    schedule.steps.insert(schedule.steps.end(), rest.steps.begin(), rest.steps.end());
}

/// Returns the plan with ranks renumbered so that the root is rank 0.
SchedulePlan from_root(SchedulePlan plan) {
    plan.rank = {wrap(plan.rank.value - plan.root.value, plan.ranks)};
    plan.root = {0};
    return plan;
}

/// Translates a schedule with the root at rank 0 back to the real rank numbers.
Schedule by_own_numbers(Schedule schedule, SchedulePlan const& plan) {
    for (auto& step : schedule.steps) step.peer = {wrap(step.peer.value + plan.root.value, plan.ranks)};
    return schedule;
}

SchedulePlan with(SchedulePlan plan, Algorithm algorithm) {
    plan.algorithm = algorithm;
    return plan;
}

bool is_tree(Algorithm algorithm) {
    return algorithm == Algorithm::binomial_tree || algorithm == Algorithm::chain ||
           algorithm == Algorithm::double_tree;
}

}  // namespace

Schedule allreduce_schedule(SchedulePlan const& plan) {
    if (plan.algorithm == Algorithm::recursive_doubling) return recursive_doubling(plan.rank, plan.ranks);
    auto schedule = reduce_scatter_schedule(plan);
    bool const is_ring = plan.algorithm == Algorithm::ring;
    append(schedule,
           allgather_schedule(with(plan, is_ring ? Algorithm::ring : Algorithm::recursive_doubling)));
    return schedule;
}

Schedule broadcast_schedule(SchedulePlan const& plan) {
    auto const seen = from_root(plan);
    if (is_tree(plan.algorithm)) return by_own_numbers(broadcast_by_tree(seen), plan);
    auto schedule = scatter_by_tree(seen);
    append(schedule, allgather_schedule(with(seen, Algorithm::recursive_doubling)));
    return by_own_numbers(std::move(schedule), plan);
}

Schedule reduce_schedule(SchedulePlan const& plan) {
    auto const seen = from_root(plan);
    if (is_tree(plan.algorithm)) return by_own_numbers(reduce_by_tree(seen), plan);
    auto schedule = reduce_scatter_schedule(seen);
    append(schedule, gather_by_tree(seen));
    return by_own_numbers(std::move(schedule), plan);
}

Schedule gather_schedule(SchedulePlan const& plan) {
    Schedule schedule{plan.ranks};
    if (plan.rank != plan.root) {
        add(schedule, Action::send, plan.root, one(plan.rank.value));
        return schedule;
    }
    for (int distance = 1; distance < plan.ranks; ++distance) {
        int const from = wrap(plan.root.value + distance, plan.ranks);
        add(schedule, Action::receive, {from}, one(from));
    }
    return schedule;
}

/// Sends do not depend on what is received, so a few parts are sent before the first receive.
Schedule all_to_all_schedule(SchedulePlan const& plan) {
    constexpr int ahead = 4;
    Schedule schedule{2 * plan.ranks};
    for (int distance = 1; distance < plan.ranks + ahead; ++distance) {
        if (distance < plan.ranks) {
            int const to = wrap(plan.rank.value + distance, plan.ranks);
            add(schedule, Action::send, {to}, one(to));
        }
        if (distance > ahead) {
            int const from = wrap(plan.rank.value - (distance - ahead), plan.ranks);
            add(schedule, Action::receive, {from}, one(plan.ranks + from));
        }
    }
    return schedule;
}

Schedule schedule_of(SchedulePlan const& plan) {
    assert(plan.ranks > 1 && plan.segments > 0);
    switch (plan.kind) {
        case Kind::broadcast_object:
        case Kind::broadcast:
            return broadcast_schedule(plan);
        case Kind::reduce:
            return reduce_schedule(plan);
        case Kind::reduce_scatter:
            return reduce_scatter_schedule(plan);
        case Kind::allgather:
        case Kind::allgather_elements:
            return allgather_schedule(plan);
        case Kind::gather:
            return gather_schedule(plan);
        case Kind::all_to_all:
            return all_to_all_schedule(plan);
        default:
            break;
    }
    return allreduce_schedule(plan);
}

}  // namespace det::collectives
