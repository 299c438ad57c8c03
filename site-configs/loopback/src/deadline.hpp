#pragma once
#include <det/foundation/polling.hpp>

#include <chrono>
#include <thread>

namespace det::loopback {

/// A point in time at which a wait gives up.
class Deadline {
public:
    explicit Deadline(std::chrono::milliseconds from_now)
        : at_(std::chrono::steady_clock::now() + from_now) {}

    bool has_passed() const { return std::chrono::steady_clock::now() >= at_; }
    /// The timeout for poll(2).
    int milliseconds_left() const { return poll_timeout_ms(at_, std::chrono::steady_clock::now()); }

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
