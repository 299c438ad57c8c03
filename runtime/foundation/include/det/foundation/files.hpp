#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace det {

/// Owns a file descriptor.
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept;
    ~UniqueFd() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset();

private:
    int fd_ = -1;
};

inline constexpr std::size_t file_size_limit_bytes = std::size_t{64} << 20;

/// Reads the whole file. Fails with codes::not_a_file unless it is a regular file, codes::document_too_large
/// above the limit.
Result<std::string> read_file(std::filesystem::path const& path,
                              std::size_t limit_bytes = file_size_limit_bytes);

enum class Durability {
    process_crash,  // after a crash of the process, readers see the whole file or none
    power_loss,     // also after a power failure: file and directory are synced
};

/// Replaces the file atomically: writes a temporary file in the same directory and renames it.
Status write_file(std::filesystem::path const& path, std::string_view bytes, mode_t mode = 0600,
                  Durability durability = Durability::process_crash);

/// Creates the file atomically with link(2). Returns false if the name already exists.
Result<bool> write_new_file(std::filesystem::path const& path, std::string_view bytes, mode_t mode = 0600);

/// Writes all bytes and repeats write(2) as needed.
Status write_all(int fd, std::string_view bytes, std::string_view what);

/// Returns false if the directory already exists. The parent must exist.
Result<bool> make_directory(std::filesystem::path const& path, mode_t mode = 0700);
Status make_directories(std::filesystem::path const& path, mode_t mode = 0700);
Status sync_directory(std::filesystem::path const& path);

/// The sorted names in a directory; empty if the directory does not exist.
Result<std::vector<std::string>> list_directory(std::filesystem::path const& path);
bool path_exists(std::filesystem::path const& path);
/// Removes a file or a directory tree. Succeeds if it does not exist.
Status remove_tree(std::filesystem::path const& path);

}  // namespace det
