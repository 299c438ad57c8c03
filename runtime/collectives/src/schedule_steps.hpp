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

/// Adds a step with the `count` blocks that begin at `begin`; block 0 follows the last block.
inline void add_wrapped(Schedule& schedule, Action action, Rank peer, int begin, int count) {
    begin = wrap(begin, schedule.blocks);
    int const end = std::min(begin + count, schedule.blocks);
    add(schedule, action, peer, {begin, end});
    if (int const rest = count - (end - begin); rest > 0) add(schedule, action, peer, {0, rest});
}

}  // namespace det::collectives
