#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace det {

/// Writes a small file, removes it, and returns the local clock minus the file's time stamp, in microseconds.
/// If a server sets the time stamps (NFS), machines can thus compare their clocks with the server's.
Result<std::int64_t> measure_clock_offset_us(std::filesystem::path const& directory);

/// Identifies the contents of a file by its size and checksum. Empty if it can't be read or is larger than
/// 1 GiB.
std::string file_fingerprint(std::filesystem::path const& path);

}  // namespace det
