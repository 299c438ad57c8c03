#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/reduction.hpp>

#include "arena.hpp"
#include "segment.hpp"

namespace det::node_collectives {

struct Plan;

/// The place of one rank in the shared memory, and what it counts there.
struct Seat {
    Segment segment;
    std::optional<Arena> arena;
    int rank = 0;
    int ranks = 1;
    std::uint64_t sequence = 0;  // of the operation that is going on
    std::uint64_t rounds = 0;    // of exchanges, before this operation
    collectives::Voice const* voice = nullptr;
    Plan* plan = nullptr;  // of this operation; keeps its memory from one to the next

    Cell& cell(int of) const { return segment.cell(sequence, of); }
    Rounds& own_rounds() const { return segment.rounds(rank); }

    /// Asks for the lines in which this rank will leave its part of the next operation, of this size, which
    /// others don't look at any more: so they are ours when they are needed.
    void claim_next(std::size_t size_bytes) const;

    /// out = sources[0] op sources[1] op ..., in which the sources of others are their small buffers. Of two
    /// ranks each takes the lines that it reads for itself, since it will write there next.
    void reduce_small(collectives::TensorCall const& call, std::span<std::byte const* const> sources) const;

    /// After something was written that others wait for. Those who sleep since long are woken: without a
    /// fence, so that one who is just lying down may be missed; it wakes by itself soon.
    void wake() const {
        if (segment.dormitory().sleepers.load(std::memory_order_relaxed) != 0) wake_sleepers();
    }
    void wake_sleepers() const;
    /// Until somebody writes something, or for a moment.
    void sleep(std::chrono::microseconds at_most) const;
};

}  // namespace det::node_collectives
