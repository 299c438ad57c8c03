#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/reduction.hpp>

#include <cstring>

#include "arena.hpp"
#include "relax.hpp"
#include "segment.hpp"

namespace det::collectives::node {

struct ExchangePlan;

/// The state of one rank in the shared memory.
struct RankSlot {
    Segment segment;
    std::optional<Arena> arena;
    int rank = 0;
    int ranks = 1;
    std::uint64_t sequence = 0;  // number of the current operation
    std::uint64_t rounds = 0;    // exchange rounds before this operation
    collectives::ErrorScope const* error_scope = nullptr;
    ExchangePlan* plan = nullptr;  // of the current operation; reused between operations

    Cell& cell(int of) const { return segment.cell(sequence, of); }
    Rounds& own_rounds() const { return segment.rounds(rank); }

    /// Publishes that this rank has entered the operation, together with tiny data.
    void enter(std::uint64_t signature, Bytes payload) const {
        auto& own = cell(rank);
        if (payload.size() > first_payload_bytes) {
            auto const rest = payload.subspan(first_payload_bytes);
            std::memcpy(own.payload.data() + first_payload_bytes, rest.data(), rest.size());
            std::atomic_signal_fence(std::memory_order_release);
            payload = payload.first(first_payload_bytes);
        }
        // Both stores directly after each other: a polling rank would steal the cache line in between.
        if (!payload.empty()) std::memcpy(own.payload.data(), payload.data(), payload.size());
        own.signature.store(signature, std::memory_order_release);
        wake();
    }
    /// Polls for a short time. Returns whether all ranks have entered with the same signature. For ranks with
    /// their own core.
    bool poll_all(std::uint64_t signature, bool has_two_lines) const;

    /// Prefetches for writing the cache lines of this rank's data for the next operation. Other ranks no
    /// longer read them, so they stay in this core's cache until they are needed.
    void claim_next(std::size_t size_bytes) const;

    /// out = sources[0] op sources[1] op ...; the sources of other ranks are their small buffers. With two
    /// ranks the read lines are prefetched for writing, because this rank writes there next.
    void reduce_small_buffers(collectives::TensorCall const& call,
                              std::span<std::byte const* const> sources) const;

    /// Called after a write for which other ranks wait. Wakes sleeping ranks. There is no memory fence, so a
    /// rank that is just going to sleep may be missed; it wakes after its short timeout.
    void wake() const {
        if (segment.futex_waiters().waiters.load(std::memory_order_relaxed) != 0) wake_waiters();
    }
    void wake_waiters() const;
    /// Sleeps until another rank calls wake() or the timeout has passed.
    void sleep(std::chrono::microseconds at_most) const;
};

inline bool RankSlot::poll_all(std::uint64_t signature, bool has_two_lines) const {
    constexpr int polls_max = 300;
    // Polling too early steals the cache line from a rank that is about to write it, which costs two more
    // transfers of the line.
    relax();
    int next = 0;
    for (int polls = 0; polls < polls_max; ++polls) {
        // Both lines are fetched concurrently.
        if (has_two_lines) __builtin_prefetch(&cell(next).payload.back());
        while (cell(next).signature.load(std::memory_order_acquire) == signature) {
            if (++next == ranks) return true;
        }
    }
    return false;
}

}  // namespace det::collectives::node
