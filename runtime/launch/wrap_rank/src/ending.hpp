#pragma once
#include <det/foundation/files.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <sys/eventfd.h>
#include <unistd.h>

namespace det::launch::wrap_rank {

/// The end of the command, as the thread that passes its output on learns of it. Others that it has started
/// may hold its output open: they are listened to until the deadline.
class Ending {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    Ending() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    void announce(TimePoint deadline) {
        deadline_ns_.store(deadline.time_since_epoch().count(), std::memory_order_release);
        std::uint64_t const one = 1;
        (void)!::write(event_.get(), &one, sizeof one);
    }
    /// Becomes readable when it is announced, and stays so.
    int fd() const { return event_.get(); }
    std::optional<TimePoint> deadline() const {
        auto const ns = deadline_ns_.load(std::memory_order_acquire);
        return ns == 0 ? std::nullopt : std::optional(TimePoint(TimePoint::duration(ns)));
    }

private:
    UniqueFd event_;
    std::atomic<TimePoint::rep> deadline_ns_ = 0;
};

}  // namespace det::launch::wrap_rank
