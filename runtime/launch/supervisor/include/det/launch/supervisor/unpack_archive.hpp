#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace det::launch::supervisor {

/// Returns whether to unpack the member of an archive with this relative path. An empty function: all members
/// are unpacked.
using MemberFilter = std::function<bool(std::filesystem::path const&)>;

/// Unpacks a context archive (tar, zstd) into an existing directory and reads it once from beginning to end.
/// The SHA-256 of its decompressed content must be `sha256`. Hard links and members whose path leaves the
/// directory are refused. After an error the directory is in an undefined state.
Status unpack_archive(std::filesystem::path const& archive, std::string const& sha256,
                      std::filesystem::path const& directory, MemberFilter const& filter = {});

}  // namespace det::launch::supervisor
