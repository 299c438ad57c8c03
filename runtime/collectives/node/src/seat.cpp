#include "seat.hpp"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace det::node_collectives {
namespace {

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, timespec const* timeout) {
    static_assert(sizeof word == sizeof(std::uint32_t));
    return ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

#ifdef __x86_64__
__attribute__((target("prfchw")))
#endif
void claim(std::byte* begin, std::size_t size_bytes) {
    constexpr std::size_t line_bytes = 64;
    for (std::size_t at = 0; at < size_bytes; at += line_bytes) __builtin_prefetch(begin + at, 1, 3);
}

}  // namespace

void Seat::claim_next(std::size_t size_bytes) const {
    claim(segment.cell(sequence + 1, rank).payload.data(), 1);
    if (size_bytes > payload_bytes) claim(segment.small(sequence + 1, rank), size_bytes);
}

void Seat::wake_sleepers() const {
    auto& wake_ups = segment.dormitory().wake_ups;
    wake_ups.fetch_add(1, std::memory_order_release);
    futex(wake_ups, FUTEX_WAKE, INT_MAX, nullptr);
}

void Seat::sleep(std::chrono::microseconds at_most) const {
    auto& [sleepers, wake_ups] = segment.dormitory();
    auto const seen = wake_ups.load(std::memory_order_acquire);
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    timespec const timeout{0, static_cast<long>(at_most.count() * 1000)};
    futex(wake_ups, FUTEX_WAIT, seen, &timeout);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace det::node_collectives
