#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace det {

/// Writes a small file, removes it, and returns the local clock minus its time stamp, in microseconds. On a
/// shared file system several machines thus compare their clocks with the same one.
Result<std::int64_t> measure_clock_offset_us(std::filesystem::path const& directory);

/// Identifies the contents of a file by its size and checksum. Empty if it can't be read.
std::string identify_file(std::filesystem::path const& path);

}  // namespace det
