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

/// Reads the whole file. codes::no_such_file if it does not exist, codes::not_a_file if it is not a regular
/// file, codes::document_too_large above the limit.
Result<std::string> read_file(std::filesystem::path const& path,
                              std::size_t limit_bytes = file_size_limit_bytes);

enum class Durability {
    process_crash,  // after a crash of the process, readers see the old file (or none), or the whole new one
    power_loss,     // the same after a power failure: file and directory are synced
};

/// Replaces the file atomically: writes a temporary file in the same directory and renames it. The file gets
/// the mode of mode_of_new_file(), which is `mode` unless its directory is shared with a group, whatever the
/// umask is.
Status write_file(std::filesystem::path const& path, std::string_view bytes, mode_t mode = 0600,
                  Durability durability = Durability::process_crash);

/// Creates the file atomically with link(2). Returns false if the name already exists. With
/// Durability::power_loss the bytes are on the disk before the name exists; the directory is not synced.
Result<bool> write_new_file(std::filesystem::path const& path, std::string_view bytes, mode_t mode = 0600,
                            Durability durability = Durability::process_crash);

/// Gives a file that has one name, `from`, the second name `to`. Returns false if `to` exists and is another
/// file.
Result<bool> link_new_file(std::filesystem::path const& from, std::filesystem::path const& to);

/// rename(2) of a file or directory that no other process renames. If the server's reply is lost, an NFSv3
/// client sends the request again, and the server, which has renamed already, answers ENOENT; a soft mount
/// gives up. It counts as renamed if `to` is then seen to name the file. Returns 0, or -1 and sets errno.
int rename_own(std::filesystem::path const& from, std::filesystem::path const& to);

/// Writes all bytes and repeats write(2) as needed. `fd` must be in blocking mode; an error message names
/// the file as `what`.
Status write_all(int fd, std::string_view bytes, std::string_view what);

/// Makes a directory with the mode of mode_of_new_file(). Returns false if the directory already exists; its
/// mode stays as it is. The parent must exist. codes::not_a_directory if something else has the name.
Result<bool> make_directory(std::filesystem::path const& path, mode_t mode = 0700);
/// Makes the directory and its missing parents, all with the mode `mode`.
Status make_directories(std::filesystem::path const& path, mode_t mode = 0700);
Status sync_directory(std::filesystem::path const& path);

/// The sorted names in a directory, without "." and ".."; empty if the directory does not exist.
Result<std::vector<std::string>> list_directory(std::filesystem::path const& path);
/// Whether the name exists; a symbolic link counts even if its target is absent.
bool path_exists(std::filesystem::path const& path);
/// Removes a file or a directory tree. Succeeds if it does not exist.
Status remove_tree(std::filesystem::path const& path);

}  // namespace det
