#include <det/foundation/descriptor_contents.hpp>
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/foundation/trusted_path.hpp>

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace det {
namespace {

namespace fs = std::filesystem;

Status check_access(int descriptor, struct stat const& info, fs::path const& path) {
    if (auto const owner = foreign_owner_of(path)) return check_foreign_owner(info, path, *owner);
    if (!has_trusted_owner(info)) {
        return Error{codes::unsafe_owner,
                     fmt::format("'{}' belongs to another user ({})", path.string(), describe_access(info)),
                     "it was not written by your jobs or commands: find out who put it there"};
    }
    if (!can_others_write(descriptor, info)) return Ok{};
    return Error{codes::unsafe_owner,
                 fmt::format("others can write '{}' ({})", path.string(), describe_access(info)),
                 fmt::format("if its contents are yours: chmod go-w '{}'", path.string())};
}

}  // namespace

Result<UniqueFd> open_trusted_file(fs::path const& path) {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    if (!file && errno == ELOOP) {
        return Error{codes::unsafe_owner, fmt::format("'{}' is a symbolic link", path.string()),
                     "it was not written by your jobs or commands: find out who put it there"};
    }
    if (!file) return os_error(fmt::format("open '{}'", path.string()), errno);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return os_error(fmt::format("read '{}'", path.string()), errno);
    if (!S_ISREG(info.st_mode))
        return Error{codes::not_a_file, fmt::format("'{}' is not a regular file", path.string())};
    DET_TRY(check_access(file.get(), info, path));
    return file;
}

Result<std::string> read_trusted_file(fs::path const& path, std::size_t limit_bytes) {
    if (foreign_owner_of(path)) limit_bytes = std::min(limit_bytes, foreign_file_limit_bytes);
    return read_current([&]() -> Result<std::string> {
        DET_TRY_ASSIGN(auto const file, open_trusted_file(path));
        return read_descriptor(file.get(), path, limit_bytes);
    });
}

Result<std::vector<std::string>> list_trusted_directory(fs::path const& path) {
    UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!directory && errno == ENOENT) return std::vector<std::string>();
    struct stat info {};
    if (!directory || ::fstat(directory.get(), &info) != 0)
        return os_error(fmt::format("list '{}'", path.string()), errno);
    DET_TRY(check_access(directory.get(), info, path));
    return list_descriptor(std::move(directory), path);
}

}  // namespace det
