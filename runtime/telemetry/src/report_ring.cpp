#include <det/telemetry/report_ring.hpp>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace det::telemetry {
namespace {

constexpr std::uint64_t unused_bytes = std::uint64_t{1} << 63;

constexpr std::size_t round_up(std::size_t size_bytes) { return (size_bytes + 7) / 8 * 8; }

}  // namespace

ReportRing::ReportRing(std::size_t capacity_bytes)
    : capacity_bytes_(capacity_bytes),
      memory_(std::make_unique<EntryState[]>(capacity_bytes / sizeof(EntryState))) {
    assert(std::has_single_bit(capacity_bytes) && capacity_bytes >= 64);
}

std::atomic_ref<ReportRing::EntryState> ReportRing::state_at(char* entry) const {
    return std::atomic_ref(*reinterpret_cast<EntryState*>(entry));
}

/// \return the head of the entry; nullptr if the ring is full
char* ReportRing::reserve(std::size_t size_bytes) {
    assert(size_bytes > 0 && size_bytes <= entry_limit_bytes());
    auto const memory = reinterpret_cast<char*>(memory_.get());
    auto const needed = head_size_bytes + round_up(size_bytes);
    auto begin = reserved_.load(std::memory_order_relaxed);
    for (;;) {
        auto const offset = begin & (capacity_bytes_ - 1);
        auto const left_at_end = capacity_bytes_ - offset;
        // An entry is contiguous: one that does not fit at the end of the memory begins at its start.
        auto const skipped = needed > left_at_end ? left_at_end : 0;
        // Acquire: pop_all() has cleared the bytes that it has released. `begin` may be older than the count
        // of released bytes; then the difference is negative, and the exchange fails.
        auto const in_use =
            static_cast<std::int64_t>(begin + skipped + needed - released_.load(std::memory_order_acquire));
        if (in_use > static_cast<std::int64_t>(capacity_bytes_)) return nullptr;
        if (!reserved_.compare_exchange_weak(begin, begin + skipped + needed, std::memory_order_relaxed))
            continue;
        if (skipped > 0) publish(memory + offset, unused_bytes | skipped);
        return memory + (skipped > 0 ? 0 : offset);
    }
}

void ReportRing::publish(char* entry, EntryState state) {
    state_at(entry).store(state, std::memory_order_release);
}

void ReportRing::pop_all(std::function<void(std::string_view)> const& take) {
    auto const memory = reinterpret_cast<char*>(memory_.get());
    for (;;) {
        auto const begin = released_.load(std::memory_order_relaxed);
        auto* const entry = memory + (begin & (capacity_bytes_ - 1));
        auto const state = state_at(entry).load(std::memory_order_acquire);
        if (state == 0) return;  // not published, or the ring is empty: all released bytes are 0
        std::size_t size_bytes = state & ~unused_bytes;
        if ((state & unused_bytes) == 0) {
            take({entry + head_size_bytes, size_bytes});
            size_bytes = head_size_bytes + round_up(size_bytes);
        }
        // Later, each of these bytes may be in the state of an entry, which must begin as 0.
        std::memset(entry, 0, size_bytes);
        released_.store(begin + size_bytes, std::memory_order_release);
    }
}

}  // namespace det::telemetry
