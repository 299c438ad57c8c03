#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>

namespace det::cli {

/// `det-submit trial logs` of this program in the same terminal, following where it can, until it ends or
/// Ctrl-C ends it.
Status follow_logs(std::uint32_t experiment);

}  // namespace det::cli
