#pragma once
#include <det/collectives/call.hpp>
#include <det/collectives/tuning.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <vector>

namespace det::collectives {

// What a rank does in a collective operation, as data: the same schedule is executed over a transport
// (run_schedule.hpp) and priced by a simulator (tests/simulation). Pure.

/// A part of the buffer, which all ranks divide into the same number of nearly equal blocks: [begin, end).
struct BlockRange {
    int begin = 0;
    int end = 0;
    friend bool operator==(BlockRange const&, BlockRange const&) = default;
};

enum class Action : std::uint8_t {
    send,           // what the blocks hold now; nobody waits for it to arrive
    receive,        // in place of what the blocks hold
    combine_below,  // receive: it comes from ranks below ours, and is the left operand
    combine_above,  // receive: the right one
    finish,         // the blocks are combined whole: a mean is divided
};

/// Whether something comes in.
inline bool takes(Action action) { return action != Action::send && action != Action::finish; }

struct Step {
    Action action = Action::send;
    Rank peer = {};
    BlockRange blocks = {};
    friend bool operator==(Step const&, Step const&) = default;
};

/// In order. What is sent between two ranks arrives in that order, and is received with the same sizes.
struct Schedule {
    int blocks = 1;
    std::vector<Step> steps = {};
};

/// What an operation is, for one of its ranks.
struct SchedulePlan {
    Kind kind = Kind::allreduce;
    Algorithm algorithm = Algorithm::ring;
    Rank rank = {};
    int ranks = 2;  // more than one
    Rank root = {};
    int segments = 1;  // in how many pieces a chain passes everything on, and each tree what is its own
};

/// Of an operation that has this algorithm (algorithms_of). Each block is combined whole on one rank, or in
/// the same way on each, in an order that the schedule alone decides: where several ranks have it in the end,
/// they have the same bits.
Schedule schedule_of(SchedulePlan const& plan);

// By operation. A rank's own block is the one that has its number.

Schedule allreduce_schedule(SchedulePlan const& plan);
/// A rank ends with its own block whole; the others hold what it has combined on the way.
Schedule reduce_scatter_schedule(SchedulePlan const& plan);
/// A rank begins with its own block.
Schedule allgather_schedule(SchedulePlan const& plan);
Schedule broadcast_schedule(SchedulePlan const& plan);
/// Elsewhere than at the root, blocks hold what was combined on the way.
Schedule reduce_schedule(SchedulePlan const& plan);
/// A rank begins with its own block; the root has all. From everybody at once.
Schedule gather_schedule(SchedulePlan const& plan);
/// Of two blocks for each rank: the first half is what goes out, by rank; into the second half comes, by
/// rank, what all others have for this one. What stays here is left to the caller.
Schedule all_to_all_schedule(SchedulePlan const& plan);

}  // namespace det::collectives
