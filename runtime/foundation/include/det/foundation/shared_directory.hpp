#pragma once
#include <det/foundation/files.hpp>

#include <filesystem>
#include <string_view>
#include <sys/types.h>

// A tree of directories that a user shares with a group is marked by the setgid bit: what is made in it
// belongs to that group, and new directories have the bit too.
namespace det {

/// Whether new files in a directory are shared: it belongs to this user, has the setgid bit, and its group
/// can read and not write it.
bool shares_new_files(std::filesystem::path const& directory);

/// The mode of a new file or directory: `mode`, and what its group needs to read it if its directory shares
/// new files and the mode is private (0600, 0700).
mode_t mode_of_new_file(std::filesystem::path const& path, mode_t mode);

/// Lets the group read a file that open(2) has just made with the mode 0600, whatever the umask is. Does
/// nothing if its directory does not share new files. A failure leaves the file private.
void share_new_file(int descriptor, std::filesystem::path const& path);

/// Replaces a file as write_file() does, with the mode 0600 also in a directory that shares new files. For
/// keys, tokens and passwords.
Status write_secret_file(std::filesystem::path const& path, std::string_view bytes);
/// Creates a file as write_new_file() does, with the mode 0600 also in a directory that shares new files.
Result<bool> write_new_secret_file(std::filesystem::path const& path, std::string_view bytes);

}  // namespace det
