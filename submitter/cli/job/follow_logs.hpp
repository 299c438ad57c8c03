#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>

namespace det::cli {

/// Runs `det-submit trial logs --follow` for the experiment's first trial in the same terminal. Returns when
/// that process ends: when the trial has ended, or after Ctrl-C.
Status follow_logs(std::uint32_t experiment);

}  // namespace det::cli
