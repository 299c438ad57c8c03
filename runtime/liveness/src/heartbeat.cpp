#include <det/foundation/start_thread.hpp>
#include <det/liveness/heartbeat.hpp>

namespace det::liveness {

Heartbeat::Heartbeat(std::atomic<std::uint64_t>& count, std::chrono::milliseconds interval) {
    thread_ = start_thread("det-heartbeat", [this, &count, interval](auto const&) { beat(count, interval); });
}

Heartbeat::~Heartbeat() {
    {
        std::lock_guard const lock(mutex_);
        is_ending_ = true;
    }
    ending_.notify_one();
    thread_.join();
}

void Heartbeat::beat(std::atomic<std::uint64_t>& count, std::chrono::milliseconds interval) {
    std::unique_lock lock(mutex_);
    while (!ending_.wait_for(lock, interval, [this] { return is_ending_; })) {
        count.fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace det::liveness
