#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace det::collectives::node {

/// The thread `det-heartbeat`: counts on while this process runs, so that others see when it is stopped. A
/// rank may compute for hours between two operations; its heart beats.
class Heartbeat {
public:
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

}  // namespace det::collectives::node
