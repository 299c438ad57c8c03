// Moves large data in rounds, through slots that stay in the cache. In round r a rank publishes chunk r of
// its data for each receiver, reduces the chunks r that the other ranks have published for it, and collects
// the chunks r that they have reduced or published.
//
// - Writers: the slot (writer, reader) is written by `writer` only; the slot (rank, rank) is read by all
//   ranks. The three counters of a rank are written by that rank only. A rank stores a counter with release
//   order after it has written or read the data of the round, and loads a counter of another rank with
//   acquire order before it reads or overwrites the data.
// - Counters count the rounds of all exchanges since the group began and are never reset. So each wait is for
//   a counter to reach a number. A rank without a part in a stage counts to the end when it begins.
// - Reuse: a slot is written again chunks_in_flight rounds later, after its readers have counted its round.
//   The first chunks_in_flight rounds need no such wait: an exchange begins when all ranks have entered its
//   operation, and a rank enters an operation after it has completed the exchange before.
// - In place: a rank collects a round after it has published it, because the result may lie over the input.
// - End: the lowest round that some rank has not completed has free slots, so each rank can publish, then
//   reduce and then collect this round. So at least one rank can always advance. LossDetector ends the wait
//   for a rank that is lost.
//
// Main memory sees the minimum, every input read once and every output written once: 2pn bytes for an
// allreduce of n bytes by p ranks. The slots of up to 11 ranks take at most 8 MiB (geometry_for). A prototype
// with two ranks on a Zen 4 processor was as fast with chunks of 128 KiB as with 256 KiB; with 64 KiB it took
// 1.4 to 2 times as long in place.
#include "exchange.hpp"

#include <algorithm>
#include <array>

namespace det::collectives::node {
namespace {

using collectives::Destination;
using collectives::Store;

/// The chunk of a round. The last one is shorter; later ones are empty.
template <class Span>
Span chunk_of(Span whole, std::uint64_t round, std::size_t chunk_bytes) {
    auto const begin = std::min(static_cast<std::size_t>(round) * chunk_bytes, whole.size());
    return whole.subspan(begin, std::min(chunk_bytes, whole.size() - begin));
}

bool has_any(auto const& pieces) {
    return std::ranges::any_of(pieces, [](auto const& piece) { return !piece.empty(); });
}

}  // namespace

void ExchangePlan::clear(int ranks) {
    sends.assign(static_cast<std::size_t>(ranks), {});
    receives.assign(static_cast<std::size_t>(ranks), {});
    sources.assign(static_cast<std::size_t>(ranks), nullptr);
    collects_from = From::their_slot_for_all;
    part.reset();
    store = Store::cached;
    longest_bytes = 0;
    ends_together = false;
}

void Exchange::begin(RankSlot& slot, ExchangePlan const& plan) {
    auto const chunk = slot.control.geometry().chunk_bytes;
    base_ = slot.rounds;
    end_ = base_ + (plan.longest_bytes + chunk - 1) / chunk;
    slot.rounds = end_;
    // A rank that has no part in a stage counts as having completed it.
    auto& own = slot.own_rounds();
    published_ = has_any(plan.sends) ? base_ : end_;
    reduced_ = plan.part ? base_ : end_;
    collected_ = has_any(plan.receives) ? base_ : end_;
    own.published.value.store(published_, std::memory_order_release);
    own.reduced.value.store(reduced_, std::memory_order_release);
    own.collected.value.store(collected_, std::memory_order_release);
    slot.wake();
}

bool Exchange::advance(RankSlot& slot, ExchangePlan& plan) {
    while (published_ < end_ || reduced_ < end_ || collected_ < end_) {
        bool moved = published_ < end_ && publish(slot, plan);
        moved |= reduced_ < end_ && reduce(slot, plan);
        moved |= collected_ < end_ && collect(slot, plan);
        if (!moved) return false;
        slot.wake();
    }
    // Other ranks may read this memory in the next operation.
    if (plan.store == Store::streaming) collectives::finish_streaming();
    return !plan.ends_together || have_all(slot, &Rounds::collected, end_);
}

std::vector<int> Exchange::awaited(RankSlot const& slot) const {
    std::vector<int> ranks;
    for (int other = 0; other < slot.ranks; ++other) {
        auto const& rounds = slot.control.rounds(other);
        auto const least = std::min({rounds.published.value.load(std::memory_order_acquire),
                                     rounds.reduced.value.load(std::memory_order_acquire),
                                     rounds.collected.value.load(std::memory_order_acquire)});
        if (other != slot.rank && least < end_) ranks.push_back(other);
    }
    return ranks;
}

bool Exchange::have_all(RankSlot const& slot, Counter Rounds::*counter, std::uint64_t count) {
    for (int other = 0; other < slot.ranks; ++other) {
        if (other == slot.rank) continue;
        if ((slot.control.rounds(other).*counter).value.load(std::memory_order_acquire) >= count) continue;
        return false;
    }
    return true;
}

bool Exchange::is_slot_free(RankSlot const& slot, Counter Rounds::*readers, std::uint64_t round) const {
    auto const in_flight = slot.control.geometry().chunks_in_flight;
    return round < base_ + in_flight || have_all(slot, readers, round + 1 - in_flight);
}

bool Exchange::publish(RankSlot const& slot, ExchangePlan const& plan) {
    auto const readers = plan.part ? &Rounds::reduced : &Rounds::collected;
    if (!is_slot_free(slot, readers, published_)) return false;
    auto const chunk = slot.control.geometry().chunk_bytes;
    for (int reader = 0; reader < slot.ranks; ++reader) {
        auto const bytes = chunk_of(plan.sends[static_cast<std::size_t>(reader)], published_ - base_, chunk);
        collectives::copy(slot.control.chunk_slot(slot.rank, reader, published_), bytes.data(), bytes.size());
    }
    slot.own_rounds().published.value.store(++published_, std::memory_order_release);
    return true;
}

bool Exchange::reduce(RankSlot const& slot, ExchangePlan& plan) {
    auto const& part = *plan.part;
    if (!have_all(slot, &Rounds::published, reduced_ + 1)) return false;
    if (part.is_shared && !is_slot_free(slot, &Rounds::collected, reduced_)) return false;
    auto const chunk = slot.control.geometry().chunk_bytes;
    auto const own = chunk_of(part.own, reduced_ - base_, chunk);
    auto const result = chunk_of(part.result, reduced_ - base_, chunk);
    auto& sources = plan.sources;
    for (int writer = 0; writer < slot.ranks; ++writer) {
        sources[static_cast<std::size_t>(writer)] =
            writer == slot.rank ? own.data() : slot.control.chunk_slot(writer, slot.rank, reduced_);
    }
    std::array<Destination, 2> destinations{};
    std::size_t count = 0;
    if (!result.empty()) destinations[count++] = {result.data(), plan.store};
    if (part.is_shared)
        destinations[count++] = {slot.control.chunk_slot(slot.rank, slot.rank, reduced_), Store::cached};
    collectives::reduce(part.type, part.op, sources, std::span(destinations).first(count),
                        own.size() / size_of(part.type));
    slot.own_rounds().reduced.value.store(++reduced_, std::memory_order_release);
    return true;
}

bool Exchange::collect(RankSlot const& slot, ExchangePlan const& plan) {
    if (collected_ >= published_)
        return false;  // an in-place result would overwrite bytes that are not sent yet
    auto const writers = plan.part ? &Rounds::reduced : &Rounds::published;
    if (!have_all(slot, writers, collected_ + 1)) return false;
    auto const chunk = slot.control.geometry().chunk_bytes;
    for (int writer = 0; writer < slot.ranks; ++writer) {
        auto const bytes =
            chunk_of(plan.receives[static_cast<std::size_t>(writer)], collected_ - base_, chunk);
        auto const reader = plan.collects_from == ExchangePlan::From::their_slot_for_us ? slot.rank : writer;
        collectives::copy(bytes.data(), slot.control.chunk_slot(writer, reader, collected_), bytes.size(),
                          plan.store);
    }
    slot.own_rounds().collected.value.store(++collected_, std::memory_order_release);
    return true;
}

}  // namespace det::collectives::node
