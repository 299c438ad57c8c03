#pragma once
#include <det/foundation/clock.hpp>

#include <functional>

/// A clock whose time advances only in sleep_for(), and by `step` when it is read.
class FakeClock final : public det::Clock {
public:
    det::UtcTime now() const override {
        return {1'795'262'400'000'000 + std::chrono::microseconds(elapsed_ + set_by_).count()};
    }
    std::chrono::steady_clock::time_point steady_now() const override {
        elapsed_ += step;
        if (step.count() > 0 && on_sleep) on_sleep(elapsed_);
        return std::chrono::steady_clock::time_point(elapsed_);
    }
    void sleep_for(std::chrono::milliseconds duration) override {
        elapsed_ += duration;
        if (on_sleep) on_sleep(elapsed_);
    }

    /// Simulates a step of the wall clock; the steady clock does not change.
    void set_by(std::chrono::milliseconds difference) { set_by_ += difference; }

    std::function<void(std::chrono::milliseconds elapsed)> on_sleep;
    std::chrono::milliseconds step{0};  // at each steady_now(), which then calls on_sleep too

private:
    mutable std::chrono::milliseconds elapsed_{0};
    std::chrono::milliseconds set_by_{0};
};
