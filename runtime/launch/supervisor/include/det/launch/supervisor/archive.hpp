#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace det::launch::supervisor {

/// Whether a member of an archive, by its relative path, is unpacked; empty: all are.
using MemberFilter = std::function<bool(std::filesystem::path const&)>;

/// Unpacks a context archive (tar, zstd) into an existing directory and reads it once from beginning to end.
/// The SHA-256 of its content must be `sha256`; members whose path leaves the directory are refused. After an
/// error the directory is in an undefined state.
Status unpack_archive(std::filesystem::path const& archive, std::string const& sha256,
                      std::filesystem::path const& directory, MemberFilter const& filter = {});

}  // namespace det::launch::supervisor
