#include "keeper_log.hpp"

#include <det/foundation/clock.hpp>

#include <cstdio>
#include <fmt/format.h>

namespace det::loopback {

void log_line(std::string_view text) { fmt::print(stderr, "{} {}\n", format_utc(SystemClock().now()), text); }

}  // namespace det::loopback
