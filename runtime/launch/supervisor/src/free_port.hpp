#pragma once
#include <cstdint>

namespace det::launch::supervisor {

/// A TCP port that was free on this host a moment ago; 0 if none was found.
std::uint16_t find_free_port();

}  // namespace det::launch::supervisor
