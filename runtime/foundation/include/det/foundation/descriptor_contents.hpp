#pragma once
#include <det/foundation/files.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det {

/// Reads an open file from its position to its end.
///
/// \param path names the file in messages
/// \return codes::not_a_file if it is not a regular file, codes::document_too_large above the limit
Result<std::string> read_descriptor(int descriptor, std::filesystem::path const& path,
                                    std::size_t limit_bytes);

/// Lists an open directory as list_directory() does.
///
/// \param path names the directory in messages
Result<std::vector<std::string>> list_descriptor(UniqueFd descriptor, std::filesystem::path const& path);

}  // namespace det
