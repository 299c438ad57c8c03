#pragma once
#include <det/checkpoint/read_from.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <filesystem>
#include <string>

namespace det::checkpoint {

/// Reads a file once: its size and its checksum.
Result<CheckpointFile> sum_file(std::filesystem::path const& root, std::string const& relative,
                                ReadFrom from = ReadFrom::disk);

/// The same, once its bytes are on the disk. A link is refused.
Result<CheckpointFile> sync_and_sum(std::filesystem::path const& root, std::string const& relative);

/// Reads a file against what a manifest says of it. codes::checkpoint_damaged says what is wrong, without the
/// checkpoint.
Status check_file(std::filesystem::path const& root, CheckpointFile const& expected, ReadFrom from);

}  // namespace det::checkpoint
