#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>

namespace det::cli {

/// Runs `det-submit trial logs` in the same terminal, with --follow if the trial still runs, until it ends or
/// Ctrl-C ends it.
Status follow_logs(std::uint32_t experiment);

}  // namespace det::cli
