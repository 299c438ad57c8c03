#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace det::liveness {

/// A thread, det-heartbeat, that increments a counter in shared memory while this process runs. Other ranks
/// detect a stopped or ended process by a counter that no longer changes. The counter also grows while the
/// rank computes for hours between two operations.
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

}  // namespace det::liveness
