#pragma once
#include <det/foundation/files.hpp>

#include <fcntl.h>
#include <filesystem>

namespace det::journal {

/// Calls `read`, which opens the file, and calls it again if the file is absent: an NFS client may remember
/// for a minute that it was absent, and asks the server when the directory is opened.
template <class Read>
auto read_or_look_again(std::filesystem::path const& path, Read const& read) {
    auto found = read();
    if (found || found.error().code != codes::no_such_file) return found;
    UniqueFd const directory(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return read();
}

}  // namespace det::journal
