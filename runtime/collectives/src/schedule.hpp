#pragma once
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

struct Step {
    Action action = Action::send;
    Rank peer = {};
    BlockRange blocks = {};
    friend bool operator==(Step const&, Step const&) = default;
};

/// In order. What is sent between two ranks arrives in that order, and is received with the same blocks.
struct Schedule {
    int blocks = 1;
    std::vector<Step> steps = {};
};

/// Each block is combined whole on one rank, or in the same way on each: all ranks end with the same bits.
/// `segments`: in how many pieces a tree passes its half on; the others have no use for it.
Schedule allreduce_schedule(Algorithm algorithm, Rank rank, int ranks, int segments);

/// Of ring blocks: rank r ends with block (r + 1) mod ranks whole.
Schedule reduce_scatter_schedule(Rank rank, int ranks);
/// Of ring blocks: rank r begins with block `own`, its left neighbour with the one before.
Schedule allgather_schedule(Rank rank, int ranks, int own);

}  // namespace det::collectives
