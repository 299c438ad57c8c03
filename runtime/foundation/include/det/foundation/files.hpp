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

/// The whole file. A directory is codes::not_a_file, a larger file codes::document_too_large.
Result<std::string> read_file(std::filesystem::path const& path,
                              std::size_t limit_bytes = file_size_limit_bytes);

enum class Durability {
    process_crash,  // readers see all or nothing
    power_loss,     // and it survives a power cut: file and directory are synced
};

/// Replaces the file in one step: a temporary name beside it, then rename. Readers never see half of it.
Status write_file(std::filesystem::path const& path, std::string_view bytes, mode_t mode = 0600,
                  Durability durability = Durability::process_crash);

/// Gives the file its name only if that name is free (link(2)): false where it was taken.
Result<bool> write_new_file(std::filesystem::path const& path, std::string_view bytes, mode_t mode = 0600);

/// All of it, however many calls that takes.
Status write_all(int fd, std::string_view bytes, std::string_view what);

/// False where it was there already. The parent must exist.
Result<bool> make_directory(std::filesystem::path const& path, mode_t mode = 0700);
Status make_directories(std::filesystem::path const& path, mode_t mode = 0700);
Status sync_directory(std::filesystem::path const& path);

/// Names in it, sorted; an absent directory has none.
Result<std::vector<std::string>> list_directory(std::filesystem::path const& path);
bool path_exists(std::filesystem::path const& path);
/// With everything below; absent is fine.
Status remove_tree(std::filesystem::path const& path);

}  // namespace det
