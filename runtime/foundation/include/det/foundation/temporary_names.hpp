#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string_view>
#include <sys/types.h>

namespace det {

/// A path in `directory` that no other process uses: the prefix and 16 random digits.
std::filesystem::path temporary_name(std::filesystem::path const& directory, std::string_view prefix);

/// Makes a directory whose name no other process uses, with the mode of mode_of_new_file(). The parent must
/// exist. If the reply of an NFS server is lost, mkdir(2) fails although the directory is there: it counts as
/// made, and gets its mode.
Status make_own_directory(std::filesystem::path const& path, mode_t mode = 0700);

/// Removes files and directories whose names begin with `prefix` and which are more than a day older than
/// `fresh`: they are left from a killed process. Ignores errors.
/// \param fresh a file or directory that was made just now; its time is that of the file server, whose clock
///              may differ from the local one
void remove_old_temporaries(std::filesystem::path const& directory, std::string_view prefix,
                            std::filesystem::path const& fresh);

}  // namespace det
