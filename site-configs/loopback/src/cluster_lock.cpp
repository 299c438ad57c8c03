#include "cluster_lock.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deadline.hpp"
#include "error_codes.hpp"

namespace det::loopback {
namespace {

constexpr std::chrono::seconds time_limit{90};  // longer than the 60 s that 'up' waits for idle nodes

/// Returns false if the previous holder removed the file after we opened it: our lock then protects nothing.
bool is_still_linked(int fd, std::filesystem::path const& path) {
    struct stat ours {
    }, named{};
    return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
           ours.st_dev == named.st_dev;
}

/// Returns nullopt if another process holds the lock, or removed the lock file or its directory meanwhile.
Result<std::optional<UniqueFd>> try_lock(ClusterPaths const& paths) {
    DET_TRY(make_directories(paths.base(), 0755));
    UniqueFd fd(::open(paths.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd && errno == ENOENT) return std::optional<UniqueFd>();  // the holder removed the directory
    if (!fd) return os_error(fmt::format("open '{}'", paths.lock().string()), errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || !is_still_linked(fd.get(), paths.lock())) {
        return std::optional<UniqueFd>();
    }
    return std::optional(std::move(fd));
}

}  // namespace

Result<ClusterLock> ClusterLock::take(ClusterPaths const& paths) {
    Deadline const deadline(time_limit);
    for (;;) {
        DET_TRY_ASSIGN(auto fd, try_lock(paths));
        if (fd) return ClusterLock(paths, *std::move(fd));
        if (deadline.has_passed()) {
            return Error{codes::timed_out,
                         fmt::format("another 'cluster' command has held the lock of '{}' for {} s",
                                     paths.name(), time_limit.count()),
                         fmt::format("find its process with 'fuser {}'", paths.lock().string())};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

ClusterLock::~ClusterLock() {
    if (!fd_ || path_exists(paths_.state())) return;
    ::unlink(paths_.lock().c_str());
    // rmdir fails while the directory holds other clusters. A directory given with --dir is never removed.
    if (paths_.base() == default_base) ::rmdir(default_base);
}

}  // namespace det::loopback
