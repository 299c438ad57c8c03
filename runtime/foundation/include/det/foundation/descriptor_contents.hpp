#pragma once
#include <det/foundation/files.hpp>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

namespace det {

/// Reads an open file from its position to its end.
///
/// \param path names the file in messages
/// \return codes::not_a_file if it is not a regular file, codes::document_too_large above the limit. If a
/// system call
///     fails, errno is the reason
Result<std::string> read_descriptor(int descriptor, std::filesystem::path const& path,
                                    std::size_t limit_bytes);

/// Opens and reads a file, and does so again if another host has replaced it meanwhile: the old file, which
/// is open, can't be read with NFS then (ESTALE).
///
/// \param read opens the file and returns what read_descriptor() returns
template <class Read>
Result<std::string> read_current(Read const& read) {
    constexpr int attempts_max = 10;
    for (int attempt = 1;; ++attempt) {
        errno = 0;
        auto text = read();
        if (text || errno != ESTALE || attempt == attempts_max) return text;
    }
}

/// Lists an open directory as list_directory() does.
///
/// \param path names the directory in messages
Result<std::vector<std::string>> list_descriptor(UniqueFd descriptor, std::filesystem::path const& path);

}  // namespace det
