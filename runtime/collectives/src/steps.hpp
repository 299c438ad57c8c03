#pragma once
#include <algorithm>

#include "schedule.hpp"

namespace det::collectives {

// Helpers that build schedules.

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

/// Adds a step with the `count` blocks that begin at `begin`; block 0 follows the last block.
inline void add_wrapped(Schedule& schedule, Action action, Rank peer, int begin, int count) {
    begin = wrap(begin, schedule.blocks);
    int const end = std::min(begin + count, schedule.blocks);
    add(schedule, action, peer, {begin, end});
    if (int const rest = count - (end - begin); rest > 0) add(schedule, action, peer, {0, rest});
}

/// The same plan with ranks renumbered so that the root is rank 0.
inline SchedulePlan from_root(SchedulePlan plan) {
    plan.rank = {wrap(plan.rank.value - plan.root.value, plan.ranks)};
    plan.root = {0};
    return plan;
}

/// Translates a schedule with the root at rank 0 back to the real rank numbers.
inline Schedule by_own_numbers(Schedule schedule, SchedulePlan const& plan) {
    for (auto& step : schedule.steps) step.peer = {wrap(step.peer.value + plan.root.value, plan.ranks)};
    return schedule;
}

}  // namespace det::collectives
