#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/collectives/reduction.hpp>
#include <det/liveness/backoff.hpp>

#include <cstring>

#include "arena.hpp"
#include "control_memory.hpp"

namespace det::collectives::node {

struct ExchangePlan;

/// One rank's view of the shared memory, with its counters.
struct RankSlot {
    ControlMemory control;
    std::optional<Arena> arena;
    int rank = 0;
    int ranks = 1;
    std::uint64_t sequence = 0;  // of the current operation
    std::uint64_t rounds = 0;    // of all exchanges that have begun, including the current one
    collectives::ErrorScope const* error_scope = nullptr;
    ExchangePlan* plan = nullptr;  // of the current operation; its memory is reused by the next operation

    Cell& cell(int of) const { return control.cell(sequence, of); }
    Rounds& own_rounds() const { return control.rounds(rank); }

    /// Enters the operation: writes the payload and then the signature to this rank's cell.
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
    /// Polls the cells of all ranks for a short time. Useful if each rank has its own core. Returns whether
    /// all ranks have entered with the same signature.
    bool poll_all(std::uint64_t signature, bool has_two_lines) const;

    /// Prefetches, for writing, the lines to which this rank will write its input of the next operation, if
    /// that input has this size. Other ranks may still read these lines: a prefetch changes no data.
    void claim_next(std::size_t size_bytes) const;

    /// out = sources[0] op sources[1] op ..., where the other ranks' sources are their small buffers. With
    /// two ranks, each takes ownership of the lines that it reads, because it writes there next.
    void reduce_small_buffers(collectives::TensorCall const& call,
                              std::span<std::byte const* const> sources) const;

    /// Wakes ranks that sleep. Called after a write for which other ranks may wait.
    void wake() const { control.futex_waiters().wake(); }
};

inline bool RankSlot::poll_all(std::uint64_t signature, bool has_two_lines) const {
    constexpr int polls_max = 300;
    // If a rank that enters at the same time has not written yet, an early poll would steal the cache line
    // from it, which costs two more transfers of the line.
    liveness::cpu_relax();
    int next = 0;
    for (int polls = 0; polls < polls_max; ++polls) {
        // Requests the second line at the same time as the first.
        if (has_two_lines) __builtin_prefetch(&cell(next).payload.back());
        while (cell(next).signature.load(std::memory_order_acquire) == signature) {
            if (++next == ranks) return true;
        }
    }
    return false;
}

}  // namespace det::collectives::node
