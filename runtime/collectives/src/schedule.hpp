#pragma once
#include <det/collectives/call.hpp>
#include <det/collectives/tuning.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <vector>

namespace det::collectives {

// The steps of a rank in a collective operation, as data. run_schedule.hpp executes a schedule over a
// transport; a simulator (tests/simulation) computes its time. Pure.

/// A range [begin, end) of blocks. All ranks divide the buffer into the same number of nearly equal blocks.
struct BlockRange {
    int begin = 0;
    int end = 0;
    friend bool operator==(BlockRange const&, BlockRange const&) = default;
};

enum class Action : std::uint8_t {
    send,           // sends the current contents of the blocks; does not wait for the receiver
    receive,        // receives and overwrites the blocks
    combine_below,  // receives from lower ranks and combines as the left operand
    combine_above,  // receives from higher ranks and combines as the right operand
    finish,         // the blocks are completely combined: divides a mean
};

/// Whether the action receives data.
inline bool takes(Action action) { return action != Action::send && action != Action::finish; }

struct Step {
    Action action = Action::send;
    Rank peer = {};
    BlockRange blocks = {};
    friend bool operator==(Step const&, Step const&) = default;
};

/// Steps in order. Messages between two ranks arrive in the order of the sends, with equal sizes on both
/// sides.
struct Schedule {
    int blocks = 1;
    std::vector<Step> steps = {};
};

/// The parameters of a schedule for one rank.
struct SchedulePlan {
    Kind kind = Kind::allreduce;
    Algorithm algorithm = Algorithm::ring;
    Rank rank = {};
    int ranks = 2;  // more than one
    Rank root = {};
    int segments = 1;  // number of pieces for chains and trees
};

/// The schedule of an operation that supports the algorithm (algorithms_of). Each block is combined
/// completely on one rank, or in the same order on each rank, and only the schedule determines the order. All
/// ranks that get a block therefore get the same bits.
Schedule schedule_of(SchedulePlan const& plan);

// The schedules by operation. The own block of a rank is the block with its number.

Schedule allreduce_schedule(SchedulePlan const& plan);
/// A rank ends with its own block complete. Its other blocks contain intermediate results.
Schedule reduce_scatter_schedule(SchedulePlan const& plan);
/// Each rank begins with its own block and ends with all blocks.
Schedule allgather_schedule(SchedulePlan const& plan);
Schedule broadcast_schedule(SchedulePlan const& plan);
/// On ranks other than the root the blocks contain intermediate results.
Schedule reduce_schedule(SchedulePlan const& plan);
/// Each rank sends its own block directly to the root, which ends with all blocks.
Schedule gather_schedule(SchedulePlan const& plan);
/// The buffer has two blocks per rank. The first half contains the outgoing blocks by rank; the second half
/// receives the blocks of the other ranks. The caller copies the block for this rank itself.
Schedule all_to_all_schedule(SchedulePlan const& plan);

}  // namespace det::collectives
