#include <det/liveness/futex.hpp>

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace det::liveness {
namespace {

long futex(std::atomic<std::uint32_t>& flag, int operation, std::uint32_t value, timespec const* timeout) {
    static_assert(sizeof flag == sizeof(std::uint32_t));
    return ::syscall(SYS_futex, &flag, operation, value, timeout, nullptr, 0);
}

}  // namespace

void FutexWaiters::wake_waiters() {
    wake_ups.fetch_add(1, std::memory_order_release);
    futex(wake_ups, FUTEX_WAKE, INT_MAX, nullptr);
}

void FutexWaiters::sleep(std::chrono::microseconds at_most) {
    auto const seen = wake_ups.load(std::memory_order_acquire);
    waiters.fetch_add(1, std::memory_order_seq_cst);
    timespec const timeout{0, static_cast<long>(at_most.count() * 1000)};
    futex(wake_ups, FUTEX_WAIT, seen, &timeout);
    waiters.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace det::liveness
