#pragma once
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

namespace det {

/// Sets the time zone of this process, in POSIX's form: "XYZ-2" is two hours east of UTC. Restores it.
class LocalTimeZone {
public:
    explicit LocalTimeZone(char const* zone) {
        if (auto const* before = std::getenv("TZ")) before_ = before;
        set(zone);
    }
    ~LocalTimeZone() { set(before_ ? before_->c_str() : nullptr); }
    LocalTimeZone(LocalTimeZone const&) = delete;
    LocalTimeZone& operator=(LocalTimeZone const&) = delete;

private:
    static void set(char const* zone) {
        if (zone == nullptr)
            ::unsetenv("TZ");
        else
            ::setenv("TZ", zone, 1);
        ::tzset();
    }
    std::optional<std::string> before_;
};

}  // namespace det
