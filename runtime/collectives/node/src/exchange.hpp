#pragma once
#include <vector>

#include "rank_slot.hpp"

namespace det::collectives::node {

using MutableBytes = std::span<std::byte>;

/// The work of a rank in an exchange, as data. Large data is sent chunk by chunk through slots that stay in
/// the cache. In each round a rank publishes a chunk of its data for each receiver, reduces the chunks that
/// were sent to it (if the exchange reduces), and collects chunks from the slots of all ranks.
struct ExchangePlan {
    /// The data to send, by receiver. The entry of this rank itself is for all ranks.
    std::vector<Bytes> sends;
    /// The memory to collect into, by sender: for what it sends to this rank or to all ranks, or for the
    /// result that it shares.
    std::vector<MutableBytes> receives;
    enum class From { their_slot_for_us, their_slot_for_all } collects_from = From::their_slot_for_all;

    /// This rank's part of a reduction: it is combined with the data that the other ranks send.
    struct Part {
        collectives::DataType type;
        collectives::ReduceOp op;
        Bytes own;
        MutableBytes result;  // empty: this rank does not need the result
        bool is_shared;       // other ranks collect it
    };
    std::optional<Part> part;

    collectives::Store store = collectives::Store::cached;  // how this rank writes its result
    std::size_t longest_bytes = 0;                          // the longest piece of any rank

    bool ends_together = false;  // complete only when all ranks have collected everything

    /// Resets this to an empty plan for `ranks` ranks. Keeps the allocated memory.
    void clear(int ranks);
    std::vector<std::byte const*> sources;  // scratch
};

/// Runs the rounds of a plan.
class Exchange {
public:
    void begin(RankSlot& slot, ExchangePlan const& plan);
    /// Makes as much progress as the other ranks allow, without blocking. Returns whether the exchange is
    /// complete.
    bool advance(RankSlot& slot, ExchangePlan& plan);
    /// All ranks that have not completed their rounds, because the rank that this one waits for may itself
    /// wait for any of them.
    std::vector<int> awaited(RankSlot const& slot) const;
    /// Grows with each step of progress.
    std::uint64_t moves() const { return published_ + reduced_ + collected_; }

private:
    bool publish(RankSlot const& slot, ExchangePlan const& plan);
    bool reduce(RankSlot const& slot, ExchangePlan& plan);
    bool collect(RankSlot const& slot, ExchangePlan const& plan);
    /// Whether this counter of all other ranks has reached `count`.
    static bool have_all(RankSlot const& slot, Counter Rounds::*counter, std::uint64_t count);
    /// Whether all readers have read the chunk that the slot held `chunks_in_flight` rounds ago.
    bool is_slot_free(RankSlot const& slot, Counter Rounds::*readers, std::uint64_t round) const;

    std::uint64_t base_ = 0;
    std::uint64_t end_ = 0;
    std::uint64_t published_ = 0, reduced_ = 0, collected_ = 0;  // completed rounds of this rank
};

}  // namespace det::collectives::node
