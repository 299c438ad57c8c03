#pragma once
#include <det/foundation/clock.hpp>

#include <ctime>
#include <string>

namespace det {

/// Breaks a time down in the time zone of this process.
std::tm to_local(UtcTime time);

/// Formats a time as strftime(3) does, in the time zone of this process; at most 63 bytes.
std::string format_local(UtcTime time, char const* format);

}  // namespace det
