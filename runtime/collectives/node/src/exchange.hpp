#pragma once
#include <vector>

#include "rank_slot.hpp"

namespace det::collectives::node {

using MutableBytes = std::span<std::byte>;

/// What a rank does in an exchange, as data: larger things go chunk by chunk through slots that stay in the
/// cache. In a round a rank publishes a chunk of what it sends, reduces what was sent to it, and collects.
struct ExchangePlan {
    /// To each rank; at the place of our own: to all.
    std::vector<Bytes> sends;
    /// From each rank: what it sent to us, or to all, or the result that it shares.
    std::vector<MutableBytes> receives;
    enum class From { their_slot_for_us, their_slot_for_all } collects_from = From::their_slot_for_all;

    /// Our part of a reduction, combined with what the others send us.
    struct Part {
        collectives::DataType type;
        collectives::ReduceOp op;
        Bytes own;
        MutableBytes result;  // empty: it is not wanted here
        bool is_shared;       // others collect it
    };
    std::optional<Part> part;

    collectives::Store store = collectives::Store::cached;  // for what stays with us
    std::size_t longest_bytes = 0;                          // of all pieces of all ranks

    bool ends_together = false;  // all wait until nobody needs the others' memory

    /// Empty, for that many ranks; keeps its memory.
    void clear(int ranks);
    std::vector<std::byte const*> sources;  // to work with
};

/// Goes through the rounds of a plan as far as the others have come.
class Exchange {
public:
    void begin(RankSlot& slot, ExchangePlan const& plan);
    /// Whether it is over.
    bool advance(RankSlot& slot, ExchangePlan& plan);
    /// Those who have something left to do. Whom we wait for may wait for one of them itself.
    std::vector<int> awaited(RankSlot const& slot) const;
    /// Grows whenever something was done.
    std::uint64_t moves() const { return published_ + reduced_ + collected_; }

private:
    bool publish(RankSlot const& slot, ExchangePlan const& plan);
    bool reduce(RankSlot const& slot, ExchangePlan& plan);
    bool collect(RankSlot const& slot, ExchangePlan const& plan);
    /// Whether the counter of all others has come to `count`.
    static bool have_all(RankSlot const& slot, Counter Rounds::*counter, std::uint64_t count);
    /// Whether nobody reads any more what lay in a slot `chunks_in_flight` rounds before.
    bool is_slot_free(RankSlot const& slot, Counter Rounds::*readers, std::uint64_t round) const;

    std::uint64_t base_ = 0;
    std::uint64_t end_ = 0;
    std::uint64_t published_ = 0, reduced_ = 0, collected_ = 0;  // rounds that we have behind us
};

}  // namespace det::collectives::node
