#pragma once
#include <det/collectives/call.hpp>
#include <det/collectives/tuning.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <vector>

namespace det::collectives {

// A schedule describes the steps of one rank in a collective operation, as data. run_schedule.hpp executes it
// over a transport, and a simulator (tests/simulation) computes its cost. All functions are pure.

/// A range [begin, end) of blocks. All ranks divide the buffer into the same number of nearly equal blocks.
/// In a gather or an allgather of objects, each block is the value of one rank.
struct BlockRange {
    int begin = 0;
    int end = 0;
    friend bool operator==(BlockRange const&, BlockRange const&) = default;
};

enum class Action : std::uint8_t {
    send,           // sends the current contents of the blocks; does not wait for the receiver
    receive,        // replaces the contents of the blocks
    combine_below,  // receives, and combines: the received data is the left operand
    combine_above,  // receives, and combines: the received data is the right operand
    finish,         // finishes blocks that are fully reduced: divides a mean
};

/// Whether the action receives a message.
inline bool receives(Action action) { return action != Action::send && action != Action::finish; }

struct Step {
    Action action = Action::send;
    Rank peer = {};
    BlockRange blocks = {};
    friend bool operator==(Step const&, Step const&) = default;
};

/// The steps of a rank in order. Messages between two ranks arrive in the order in which they are sent, and
/// are received with the same sizes.
struct Schedule {
    int blocks = 1;
    std::vector<Step> steps = {};
};

/// The parameters from which the schedule of one rank is made.
struct SchedulePlan {
    Kind kind = Kind::allreduce;
    Algorithm algorithm = Algorithm::ring;
    Rank rank = {};
    int ranks = 2;  // at least 2
    Rank root = {};
    int segments = 1;  // pieces in which a chain or each tree passes its data on
};

/// The schedule of the operation `plan.kind`, which must support the algorithm (algorithms_of). One rank
/// reduces each block, or several ranks reduce it in the same order. The order depends only on the schedules,
/// so all ranks that get the result of a block get the same bits.
Schedule schedule_of(SchedulePlan const& plan);

// The schedules by operation. A rank's own block is the one with the rank's number.

Schedule allreduce_schedule(SchedulePlan const& plan);
/// A rank ends with its own block fully reduced. Its other blocks hold intermediate values.
Schedule reduce_scatter_schedule(SchedulePlan const& plan);
/// A rank begins with its own block, and ends with all blocks.
Schedule allgather_schedule(SchedulePlan const& plan);
Schedule broadcast_schedule(SchedulePlan const& plan);
/// The root ends with all blocks fully reduced. The blocks of other ranks hold intermediate values.
Schedule reduce_schedule(SchedulePlan const& plan);
/// A rank begins with its own block, and the root ends with all blocks. All ranks send to the root directly.
Schedule gather_schedule(SchedulePlan const& plan);
/// Has 2 * ranks blocks: block r is sent to rank r, and block ranks + r is received from rank r. The caller
/// copies the part that stays on this rank.
Schedule all_to_all_schedule(SchedulePlan const& plan);

}  // namespace det::collectives
