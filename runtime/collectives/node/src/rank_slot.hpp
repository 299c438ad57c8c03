#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/reduction.hpp>

#include <cstring>

#include "arena.hpp"
#include "relax.hpp"
#include "segment.hpp"

namespace det::collectives::node {

struct ExchangePlan;

/// The place of one rank in the shared memory, and what it counts there.
struct RankSlot {
    Segment segment;
    std::optional<Arena> arena;
    int rank = 0;
    int ranks = 1;
    std::uint64_t sequence = 0;  // of the operation that is going on
    std::uint64_t rounds = 0;    // of exchanges, before this operation
    collectives::ErrorScope const* error_scope = nullptr;
    ExchangePlan* plan = nullptr;  // of this operation; keeps its memory from one to the next

    Cell& cell(int of) const { return segment.cell(sequence, of); }
    Rounds& own_rounds() const { return segment.rounds(rank); }

    /// Says that this rank has come to the operation, with what it has to give where that is tiny.
    void enter(std::uint64_t signature, Bytes payload) const {
        auto& own = cell(rank);
        if (payload.size() > first_payload_bytes) {
            auto const rest = payload.subspan(first_payload_bytes);
            std::memcpy(own.payload.data() + first_payload_bytes, rest.data(), rest.size());
            std::atomic_signal_fence(std::memory_order_release);
            payload = payload.first(first_payload_bytes);
        }
        // One right after the other: those who poll the line would take it away between them.
        if (!payload.empty()) std::memcpy(own.payload.data(), payload.data(), payload.size());
        own.signature.store(signature, std::memory_order_release);
        wake();
    }
    /// For those who have a core to wait on: whether all come soon, and say the same.
    bool poll_all(std::uint64_t signature, bool has_two_lines) const;

    /// Asks for the lines in which this rank will leave its part of the next operation, of this size, which
    /// others don't look at any more: so they are ours when they are needed.
    void claim_next(std::size_t size_bytes) const;

    /// out = sources[0] op sources[1] op ..., in which the sources of others are their small buffers. Of two
    /// ranks each takes the lines that it reads for itself, since it will write there next.
    void reduce_small_buffers(collectives::TensorCall const& call,
                              std::span<std::byte const* const> sources) const;

    /// After something was written that others wait for. Those who sleep since long are woken: without a
    /// fence, so that one who is just lying down may be missed; it wakes by itself soon.
    void wake() const {
        if (segment.futex_waiters().waiters.load(std::memory_order_relaxed) != 0) wake_waiters();
    }
    void wake_waiters() const;
    /// Until somebody writes something, or for a moment.
    void sleep(std::chrono::microseconds at_most) const;
};

inline bool RankSlot::poll_all(std::uint64_t signature, bool has_two_lines) const {
    constexpr int polls_max = 300;
    // Who polls before a rank that comes at the same time has written takes the line away from it, and waits
    // for two hand-overs more.
    relax();
    int next = 0;
    for (int polls = 0; polls < polls_max; ++polls) {
        // Both lines are on their way at once.
        if (has_two_lines) __builtin_prefetch(&cell(next).payload.back());
        while (cell(next).signature.load(std::memory_order_acquire) == signature) {
            if (++next == ranks) return true;
        }
    }
    return false;
}

}  // namespace det::collectives::node
