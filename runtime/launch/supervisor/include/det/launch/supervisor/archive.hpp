#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>

namespace det::launch::supervisor {

/// Unpacks a context archive (tar, zstd) into an existing directory and reads it once from beginning to end.
/// The SHA-256 of its content must be `sha256`; members whose path leaves the directory are refused. After an
/// error the directory is in an undefined state.
Status unpack_archive(std::filesystem::path const& archive, std::string const& sha256,
                      std::filesystem::path const& directory);

}  // namespace det::launch::supervisor
