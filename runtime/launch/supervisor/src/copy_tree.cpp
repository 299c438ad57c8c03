#include "copy_tree.hpp"

#include <det/foundation/files.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr mode_t permissions = 07777;

Error copy_error(fs::path const& from, int number) {
    return os_error(fmt::format("copy '{}'", from.string()), number);
}

bool is_gone(int number) { return number == ENOENT || number == ESTALE; }

/// Copies through this process. Used if the file system can't copy by itself.
Status copy_bytes(int from, int to, fs::path const& path) {
    std::string buffer(std::size_t{1} << 20, '\0');
    for (;;) {
        auto const count = ::read(from, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return copy_error(path, errno);
        if (count == 0) return Ok{};
        DET_TRY(write_all(to, std::string_view(buffer).substr(0, static_cast<std::size_t>(count)),
                          path.string()));
    }
}

Status copy_contents(int from, int to, fs::path const& path) {
    constexpr std::size_t piece = std::size_t{1} << 30;
    for (bool is_first = true;; is_first = false) {
        auto const count = ::copy_file_range(from, nullptr, to, nullptr, piece, 0);
        if (count > 0) continue;
        // Some file systems return 0 for a file that is not empty.
        if (count == 0) return is_first ? copy_bytes(from, to, path) : Status(Ok{});
        if (errno == EINTR) continue;
        bool const is_unsupported =
            errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EBADF;
        return is_unsupported ? copy_bytes(from, to, path) : Status(copy_error(path, errno));
    }
}

void copy_times(struct stat const& info, int to) {
    timespec const times[] = {info.st_atim, info.st_mtim};
    ::futimens(to, times);
}

Status copy_regular(fs::path const& from, fs::path const& to) {
    UniqueFd const source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (!source || ::fstat(source.get(), &info) != 0)
        return is_gone(errno) ? Status(Ok{}) : Status(copy_error(from, errno));
    UniqueFd const target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!target) return copy_error(to, errno);
    DET_TRY(copy_contents(source.get(), target.get(), from));
    ::fchmod(target.get(), info.st_mode & permissions);
    copy_times(info, target.get());
    return Ok{};
}

Status copy_link(fs::path const& from, fs::path const& to) {
    std::error_code error;
    auto const target = fs::read_symlink(from, error);
    if (error) return is_gone(error.value()) ? Status(Ok{}) : Status(copy_error(from, error.value()));
    return ::symlink(target.c_str(), to.c_str()) == 0 ? Status(Ok{}) : Status(copy_error(to, errno));
}

Status copy_directory(fs::path const& from, fs::path const& to) {
    struct stat info {};
    if (::lstat(from.c_str(), &info) != 0) return is_gone(errno) ? Status(Ok{}) : copy_error(from, errno);
    DET_TRY(make_directory(to));
    DET_TRY(copy_tree(from, to));
    UniqueFd const target(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!target) return copy_error(to, errno);
    ::fchmod(target.get(), info.st_mode & permissions);
    copy_times(info, target.get());
    return Ok{};
}

}  // namespace

Status copy_tree(fs::path const& from, fs::path const& to) {
    DET_TRY_ASSIGN(auto const names, list_directory(from));
    for (auto const& name : names) {
        auto const source = from / name;
        struct stat info {};
        if (::lstat(source.c_str(), &info) != 0) {
            if (is_gone(errno)) continue;
            return copy_error(source, errno);
        }
        if (S_ISDIR(info.st_mode)) {
            DET_TRY(copy_directory(source, to / name));
        } else if (S_ISLNK(info.st_mode)) {
            DET_TRY(copy_link(source, to / name));
        } else if (S_ISREG(info.st_mode)) {
            DET_TRY(copy_regular(source, to / name));
        }
    }
    return Ok{};
}

}  // namespace det::launch::supervisor
