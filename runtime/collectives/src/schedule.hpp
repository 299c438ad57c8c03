#pragma once
#include <det/collectives/call.hpp>
#include <det/collectives/tuning.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <vector>

namespace det::collectives {

// What a rank does in a collective operation, as data: run_schedule.hpp executes a schedule over a transport,
// and a simulator (tests/simulation) prices it. Pure.

/// A range [begin, end) of blocks. All ranks divide the buffer into the same number of nearly equal blocks.
struct BlockRange {
    int begin = 0;
    int end = 0;
    friend bool operator==(BlockRange const&, BlockRange const&) = default;
};

enum class Action : std::uint8_t {
    send,           // sends the present contents of the blocks; does not wait for the receiver
    receive,        // replaces the contents of the blocks
    combine_below,  // receives from a lower rank: the left operand
    combine_above,  // receives from a higher rank: the right operand
    finish,         // the blocks are fully reduced: divides a mean
};

/// Whether the action receives.
inline bool takes(Action action) { return action != Action::send && action != Action::finish; }

struct Step {
    Action action = Action::send;
    Rank peer = {};
    BlockRange blocks = {};
    friend bool operator==(Step const&, Step const&) = default;
};

/// Steps in order. Messages between two ranks arrive in the order of the sends, and are received with the
/// same sizes.
struct Schedule {
    int blocks = 1;
    std::vector<Step> steps = {};
};

/// An operation, for one of its ranks.
struct SchedulePlan {
    Kind kind = Kind::allreduce;
    Algorithm algorithm = Algorithm::ring;
    Rank rank = {};
    int ranks = 2;  // at least 2
    Rank root = {};
    int segments = 1;  // pieces in which a chain or each tree passes its data on
};

/// The schedule of an operation that has this algorithm (algorithms_of). Each block is reduced by one rank,
/// or in the same way by several, in an order that the schedule alone decides. So all ranks that have a block
/// in the end have the same bits.
Schedule schedule_of(SchedulePlan const& plan);

// By operation. A rank's own block is the one with its number.

Schedule allreduce_schedule(SchedulePlan const& plan);
/// A rank ends with its own block fully reduced. Its other blocks hold intermediate values.
Schedule reduce_scatter_schedule(SchedulePlan const& plan);
/// A rank begins with its own block, and ends with all blocks.
Schedule allgather_schedule(SchedulePlan const& plan);
Schedule broadcast_schedule(SchedulePlan const& plan);
/// The root ends with all blocks fully reduced. The blocks of the others hold intermediate values.
Schedule reduce_schedule(SchedulePlan const& plan);
/// A rank begins with its own block, and the root ends with all blocks. All ranks send to the root directly.
Schedule gather_schedule(SchedulePlan const& plan);
/// Two blocks for each rank: the first half is sent, by rank; the second half is received, by rank. The
/// caller copies the part that stays on this rank.
Schedule all_to_all_schedule(SchedulePlan const& plan);

}  // namespace det::collectives
