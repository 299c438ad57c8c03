#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <poll.h>
#include <thread>

namespace det::loopback {

/// A point in time at which a wait gives up.
class Deadline {
public:
    explicit Deadline(std::chrono::milliseconds from_now)
        : at_(std::chrono::steady_clock::now() + from_now) {}

    bool has_passed() const { return std::chrono::steady_clock::now() >= at_; }
    /// The timeout for poll(2). Rounded up, so that a wait does not end before the deadline.
    int milliseconds_left() const {
        auto const left =
            std::chrono::ceil<std::chrono::milliseconds>(at_ - std::chrono::steady_clock::now());
        return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
    }

private:
    std::chrono::steady_clock::time_point at_;
};

/// Calls `condition` every `pause` until it returns true. Returns false if the deadline passes first.
template <class Condition>
bool poll_until(Deadline const& deadline, Condition condition,
                std::chrono::milliseconds pause = std::chrono::milliseconds(10)) {
    while (!condition()) {
        if (deadline.has_passed()) return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

}  // namespace det::loopback
