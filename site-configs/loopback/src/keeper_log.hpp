#pragma once
#include <string_view>

namespace det::loopback {

/// The keeper's stderr is log/keeper.log.
void log_line(std::string_view text);

}  // namespace det::loopback
