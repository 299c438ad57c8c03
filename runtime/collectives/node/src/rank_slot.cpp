#include "rank_slot.hpp"

#include <algorithm>

namespace det::collectives::node {
namespace {

#ifdef __x86_64__
__attribute__((target("prfchw")))
#endif
void claim(std::byte* begin, std::size_t size_bytes) {
    for (std::size_t at = 0; at < size_bytes; at += line_bytes) __builtin_prefetch(begin + at, 1, 3);
}

// With two ranks, a rank reads the other rank's small buffer in blocks and prefetches lines this far ahead.
constexpr std::size_t block_bytes = 2048;
constexpr std::size_t claimed_ahead_bytes = 2048;

}  // namespace

void RankSlot::claim_next(std::size_t size_bytes) const {
    auto* const next = reinterpret_cast<std::byte*>(&control.cell(sequence + 1, rank));
    claim(next, signature_bytes + (size_bytes <= payload_bytes ? size_bytes : 0));
    if (size_bytes > payload_bytes && ranks != 2) claim(control.small(sequence + 1, rank), size_bytes);
}

void RankSlot::reduce_small_buffers(collectives::TensorCall const& call,
                                    std::span<std::byte const* const> sources) const {
    auto* const out = bytes_of(call.out).data();
    if (ranks != 2) return collectives::reduce(call.in.type, call.op, sources, out, call.out.count);
    auto* const theirs = control.small(sequence, 1 - rank);
    auto const size = bytes_of(call.out).size();
    claim(theirs, std::min(size, claimed_ahead_bytes));
    for (std::size_t begin = 0; begin < size; begin += block_bytes) {
        auto const length = std::min(block_bytes, size - begin);
        auto const ahead = std::min(begin + claimed_ahead_bytes, size);
        claim(theirs + ahead, std::min(block_bytes, size - ahead));
        std::byte const* const blocks[] = {sources[0] + begin, sources[1] + begin};
        collectives::reduce(call.in.type, call.op, blocks, out + begin, length / size_of(call.in.type));
    }
}

}  // namespace det::collectives::node
