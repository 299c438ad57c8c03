#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det {

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
struct UtcTime {
    std::int64_t microseconds = 0;
    friend auto operator<=>(UtcTime const&, UtcTime const&) = default;
};

/// The text form is "2026-11-21T08:15:30.000042Z". parse_utc() accepts zero to six decimals, and returns
/// nullopt for any other text.
std::string format_utc(UtcTime time);
std::optional<UtcTime> parse_utc(std::string_view text);

class Clock {
public:
    virtual ~Clock() = default;
    virtual UtcTime now() const = 0;
    virtual std::chrono::steady_clock::time_point steady_now() const = 0;
    virtual void sleep_for(std::chrono::milliseconds duration) = 0;
};

class SystemClock final : public Clock {
public:
    UtcTime now() const override;
    std::chrono::steady_clock::time_point steady_now() const override;
    void sleep_for(std::chrono::milliseconds duration) override;
};

}  // namespace det
