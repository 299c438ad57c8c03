#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace det::liveness {

/// A thread, det-heartbeat, that increments a counter in shared memory while this process runs. Other ranks
/// see from it when the process is stopped; a rank that computes for hours between two operations still
/// counts up.
class Heartbeat {
public:
    /// \param count must outlive this object
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
