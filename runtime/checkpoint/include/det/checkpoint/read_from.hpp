#pragma once
#include <cstdint>

namespace det::checkpoint {

/// A file that somebody has read ahead lies in the page cache. That is good enough for who goes on to use its
/// bytes, and not for who asks what is on the disk.
enum class ReadFrom : std::uint8_t { disk, page_cache_or_disk };

}  // namespace det::checkpoint
