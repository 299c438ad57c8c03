#pragma once
#include <algorithm>

#include "schedule.hpp"

namespace det::collectives {

// What schedules are made of.

inline BlockRange one(int block) { return {block, block + 1}; }

inline int wrap(int index, int count) { return (index % count + count) % count; }

inline Action combining(Rank rank, Rank peer) {
    return peer < rank ? Action::combine_below : Action::combine_above;
}

inline void add(Schedule& schedule, Action action, Rank peer, BlockRange blocks) {
    schedule.steps.push_back({action, peer, blocks});
}

inline void append(Schedule& schedule, Schedule const& rest) {
    schedule.steps.insert(schedule.steps.end(), rest.steps.begin(), rest.steps.end());
}

/// As many blocks from `begin` on as `count`; behind the last comes the first.
inline void add_wrapped(Schedule& schedule, Action action, Rank peer, int begin, int count) {
    begin = wrap(begin, schedule.blocks);
    int const end = std::min(begin + count, schedule.blocks);
    add(schedule, action, peer, {begin, end});
    if (int const rest = count - (end - begin); rest > 0) add(schedule, action, peer, {0, rest});
}

/// The same for ranks that are counted from the root on: it is rank 0.
inline SchedulePlan from_root(SchedulePlan plan) {
    plan.rank = {wrap(plan.rank.value - plan.root.value, plan.ranks)};
    plan.root = {0};
    return plan;
}

/// What was planned from the root on, with the ranks' own numbers.
inline Schedule by_own_numbers(Schedule schedule, SchedulePlan const& plan) {
    for (auto& step : schedule.steps) step.peer = {wrap(step.peer.value + plan.root.value, plan.ranks)};
    return schedule;
}

}  // namespace det::collectives
