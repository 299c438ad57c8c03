#pragma once
#include <cstddef>

namespace det::checkpoint {

/// memcpy for what nobody reads again soon: stores go around the caches, so that a large copy moves each byte
/// twice and not three times, and leaves the caches to those who compute. One fence at its end.
void stream_copy(std::byte* to, std::byte const* from, std::size_t size_bytes);

}  // namespace det::checkpoint
