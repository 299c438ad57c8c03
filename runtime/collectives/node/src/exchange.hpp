#pragma once
#include <vector>

#include "rank_slot.hpp"

namespace det::collectives::node {

using MutableBytes = std::span<std::byte>;

/// The plan of a rank for an exchange of larger data, which goes chunk by chunk through slots that stay in
/// the cache. In a round a rank publishes a chunk, reduces the chunks that were sent to it, and collects
/// results.
struct ExchangePlan {
    /// Data for each rank. The element of this rank is data for all ranks.
    std::vector<Bytes> sends;
    /// Memory for the data of each rank: sent to this rank or to all, or its shared result.
    std::vector<MutableBytes> receives;
    enum class From { their_slot_for_us, their_slot_for_all } collects_from = From::their_slot_for_all;

    /// This rank's part of a reduction.
    struct Part {
        collectives::DataType type;
        collectives::ReduceOp op;
        Bytes own;
        MutableBytes result;  // empty: this rank needs no result
        bool is_shared;       // other ranks collect it
    };
    std::optional<Part> part;

    collectives::Store store = collectives::Store::cached;  // for this rank's own result
    std::size_t longest_bytes = 0;                          // the longest data of any rank

    bool ends_together = false;  // all ranks wait until no rank reads the others' memory

    /// Resets the plan for `ranks` ranks and keeps its memory.
    void clear(int ranks);
    std::vector<std::byte const*> sources;  // scratch memory
};

/// Executes the rounds of a plan as far as the other ranks allow.
class Exchange {
public:
    void begin(RankSlot& slot, ExchangePlan const& plan);
    /// Makes progress without blocking. Returns true when the exchange is complete.
    bool advance(RankSlot& slot, ExchangePlan& plan);
    /// The ranks that are not finished. A rank for which this rank waits may itself wait for one of them.
    std::vector<int> awaited(RankSlot const& slot) const;
    /// Increases with all progress.
    std::uint64_t moves() const { return published_ + reduced_ + collected_; }

private:
    bool publish(RankSlot const& slot, ExchangePlan const& plan);
    bool reduce(RankSlot const& slot, ExchangePlan& plan);
    bool collect(RankSlot const& slot, ExchangePlan const& plan);
    /// Whether the counter of all other ranks has reached `count`.
    static bool have_all(RankSlot const& slot, Counter Rounds::*counter, std::uint64_t count);
    /// Whether all ranks have finished reading the chunk of `chunks_in_flight` rounds before in this slot.
    bool is_slot_free(RankSlot const& slot, Counter Rounds::*readers, std::uint64_t round) const;

    std::uint64_t base_ = 0;
    std::uint64_t end_ = 0;
    std::uint64_t published_ = 0, reduced_ = 0, collected_ = 0;  // completed rounds
};

}  // namespace det::collectives::node
