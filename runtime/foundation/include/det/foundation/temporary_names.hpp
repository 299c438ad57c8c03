#pragma once
#include <filesystem>
#include <string_view>

namespace det {

/// A path in `directory` that no other process uses: the prefix and 16 random digits.
std::filesystem::path temporary_name(std::filesystem::path const& directory, std::string_view prefix);

/// Removes files and directories whose names begin with `prefix` and which are more than a day older than
/// `fresh`: they are left from a killed process. Ignores errors.
/// \param fresh a file or directory that was made just now; its time is that of the file server, whose clock
///              may differ from the local one
void remove_old_temporaries(std::filesystem::path const& directory, std::string_view prefix,
                            std::filesystem::path const& fresh);

}  // namespace det
