#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/reduction.hpp>
#include <det/liveness/cpu_relax.hpp>

#include <cstring>

#include "arena.hpp"
#include "segment.hpp"

namespace det::collectives::node {

struct ExchangePlan;

/// One rank's view of the shared memory, with its counters.
struct RankSlot {
    Segment segment;
    std::optional<Arena> arena;
    int rank = 0;
    int ranks = 1;
    std::uint64_t sequence = 0;  // of the current operation
    std::uint64_t rounds = 0;    // of exchanges, before the current operation
    collectives::ErrorScope const* error_scope = nullptr;
    ExchangePlan* plan = nullptr;  // of the current operation; keeps its memory from one to the next

    Cell& cell(int of) const { return segment.cell(sequence, of); }
    Rounds& own_rounds() const { return segment.rounds(rank); }

    /// Enters the operation, with this rank's input if that is tiny.
    void enter(std::uint64_t signature, Bytes payload) const {
        auto& own = cell(rank);
        if (payload.size() > first_payload_bytes) {
            auto const rest = payload.subspan(first_payload_bytes);
            std::memcpy(own.payload.data() + first_payload_bytes, rest.data(), rest.size());
            std::atomic_signal_fence(std::memory_order_release);
            payload = payload.first(first_payload_bytes);
        }
        // The two stores follow each other directly: a polling peer would steal the cache line between them.
        if (!payload.empty()) std::memcpy(own.payload.data(), payload.data(), payload.size());
        own.signature.store(signature, std::memory_order_release);
        wake();
    }
    /// For ranks with a core each: polls for a short time. Returns whether all ranks have entered with the
    /// same signature.
    bool poll_all(std::uint64_t signature, bool has_two_lines) const;

    /// Prefetches for writing the lines in which this rank will leave its part of the next operation, if that
    /// is of this size. The other ranks have finished reading them.
    void claim_next(std::size_t size_bytes) const;

    /// out = sources[0] op sources[1] op ..., where the other ranks' sources are their small buffers. With
    /// two ranks, each takes ownership of the lines that it reads, because it writes there next.
    void reduce_small_buffers(collectives::TensorCall const& call,
                              std::span<std::byte const* const> sources) const;

    /// Called after a write that others wait for. Wakes ranks that sleep. It uses no fence, so it can miss a
    /// rank that is just falling asleep; that rank wakes up by itself within 1 ms.
    void wake() const {
        if (segment.futex_waiters().waiters.load(std::memory_order_relaxed) != 0) wake_waiters();
    }
    void wake_waiters() const;
    /// Sleeps until another rank writes, or until the time has passed.
    void sleep(std::chrono::microseconds at_most) const;
};

inline bool RankSlot::poll_all(std::uint64_t signature, bool has_two_lines) const {
    constexpr int polls_max = 300;
    // A poll before a simultaneous writer has written would steal the line from it, which costs two more
    // transfers of the line.
    liveness::cpu_relax();
    int next = 0;
    for (int polls = 0; polls < polls_max; ++polls) {
        // Requests both lines at once.
        if (has_two_lines) __builtin_prefetch(&cell(next).payload.back());
        while (cell(next).signature.load(std::memory_order_acquire) == signature) {
            if (++next == ranks) return true;
        }
    }
    return false;
}

}  // namespace det::collectives::node
