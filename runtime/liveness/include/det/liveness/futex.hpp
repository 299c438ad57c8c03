#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace det::liveness {

/// A futex in shared memory, on which processes sleep while they wait for a write of another process. Zeroed
/// memory is a valid value. It has two cache lines to itself, because processors fetch lines in pairs.
struct alignas(128) FutexWaiters {
    std::atomic<std::uint32_t> waiters;
    std::atomic<std::uint32_t> wake_ups;

    /// Wakes all waiters. Called after each write for which others may wait. It uses no fence, so it can miss
    /// a process that is just going to sleep. That process wakes up by itself within 1 ms, the longest sleep
    /// of a Backoff.
    void wake() {
        if (waiters.load(std::memory_order_relaxed) != 0) wake_waiters();
    }
    /// Sleeps until a wake(), until the time has passed, or until a signal arrives.
    /// \param at_most less than a second
    void sleep(std::chrono::microseconds at_most);

private:
    void wake_waiters();
};

}  // namespace det::liveness
