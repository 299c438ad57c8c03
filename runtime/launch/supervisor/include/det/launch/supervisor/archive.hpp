#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>

namespace det::launch::supervisor {

/// Unpacks a context archive (tar, zstd) into an existing directory, reading it once from beginning to end.
/// Its content must have the hash that names it; members that would leave the directory are refused. After an
/// error the directory's content is of no use.
Status unpack_archive(std::filesystem::path const& archive, std::string const& sha256,
                      std::filesystem::path const& directory);

}  // namespace det::launch::supervisor
