#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace det::liveness {

/// A thread, det-heartbeat, that increments a counter in shared memory while this process runs. Other ranks
/// detect a stopped or ended process by a counter that no longer changes. The counter also grows while the
/// rank computes for hours between two operations. The destructor ends the thread.
class Heartbeat {
public:
    /// \param count must outlive this object
    /// \param interval time between two increments
    Heartbeat(std::atomic<std::uint64_t>& count, std::chrono::milliseconds interval);
    ~Heartbeat();
    Heartbeat(Heartbeat const&) = delete;
    Heartbeat& operator=(Heartbeat const&) = delete;

private:
    void beat(std::atomic<std::uint64_t>& count, std::chrono::milliseconds interval);

    std::mutex mutex_;
    std::condition_variable ending_;
    bool is_ending_ = false;
    std::jthread thread_;
};

/// Another process's Heartbeat, as this process observes it.
class HeartbeatObserver {
public:
    using Duration = std::chrono::steady_clock::duration;

    /// \param count the present value of the other process's counter
    /// \param elapsed time since the previous observation
    /// \return how long the counter has not changed. Each observation adds at most 100 ms, because a longer
    /// time
    ///   means that this process itself was stopped.
    Duration observe(std::uint64_t count, Duration elapsed) {
        constexpr Duration awake_limit = std::chrono::milliseconds(100);
        bool const has_changed = std::exchange(count_, count) != count;
        return silence_ = has_changed ? Duration() : silence_ + std::min(elapsed, awake_limit);
    }

private:
    std::optional<std::uint64_t> count_;
    Duration silence_{};
};

}  // namespace det::liveness
