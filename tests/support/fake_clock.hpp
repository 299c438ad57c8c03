#pragma once
#include <det/foundation/clock.hpp>

/// Time goes on only when somebody sleeps.
class FakeClock final : public det::Clock {
public:
    det::UtcTime now() const override { return {1'795'262'400'000'000 + elapsed_.count() * 1000}; }
    std::chrono::steady_clock::time_point steady_now() const override {
        return std::chrono::steady_clock::time_point(elapsed_);
    }
    void sleep_for(std::chrono::milliseconds duration) override { elapsed_ += duration; }

private:
    std::chrono::milliseconds elapsed_{0};
};
