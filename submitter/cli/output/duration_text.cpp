#include "output/duration_text.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace det::cli {

std::string duration_text(double duration_s) {
    auto const seconds = static_cast<std::int64_t>(std::max(0.0, duration_s));
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace det::cli
