#pragma once
#include <det/foundation/files.hpp>

#include <filesystem>
#include <string>
#include <vector>

// Reads files whose contents a program follows: specifications, journals, scripts, archives of code.
namespace det {

/// Opens a file for reading. It must be a regular file that belongs to this user or to root and that others
/// can't write; a private group may (is_private_group). Does not block on a fifo and follows no symbolic
/// link. Does not check the directories of the path: check_trusted_path() does.
///
/// \return codes::unsafe_owner, codes::not_a_file, codes::no_such_file
Result<UniqueFd> open_trusted_file(std::filesystem::path const& path);

/// Reads a whole file that open_trusted_file() accepts. codes::document_too_large above the limit.
Result<std::string> read_trusted_file(std::filesystem::path const& path,
                                      std::size_t limit_bytes = file_size_limit_bytes);

/// Lists a directory as list_directory() does. codes::unsafe_owner if it does not belong to this user or to
/// root, or if others can write it.
Result<std::vector<std::string>> list_trusted_directory(std::filesystem::path const& path);

}  // namespace det
