#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>

namespace det::launch::supervisor {

/// Copies the contents of a directory into an existing one: directories, files, symbolic links, with their
/// permissions and times. Files get new inodes: writes to the originals do not reach the copies. Originals
/// that disappear meanwhile are left out, as are sockets, pipes and devices.
Status copy_tree(std::filesystem::path const& from, std::filesystem::path const& to);

}  // namespace det::launch::supervisor
