#include <det/experiment_pack/pack_lock.hpp>
#include <det/foundation/clock.hpp>

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "scan_tree.hpp"

namespace det::experiment_pack {
namespace {

namespace fs = std::filesystem;

/// Whether the open file still has its name: the process that had the lock removes the file.
bool has_name(UniqueFd const& file, fs::path const& path) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void remove_temporaries(fs::path const& directory) {
    auto const names = list_directory(directory);
    if (!names) return;
    for (auto const& name : *names) {
        if (name.starts_with(temporary_prefix)) (void)::unlink((directory / name).c_str());
    }
}

/// Opens the lock file, and says whether this call has created it. An invalid descriptor: try again.
Result<std::pair<UniqueFd, bool>> open_lock(fs::path const& path) {
    constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    UniqueFd created(::open(path.c_str(), flags | O_CREAT | O_EXCL, 0600));
    if (created) return std::pair(std::move(created), true);
    if (errno != EEXIST) return os_error(fmt::format("create '{}'", path.string()), errno);
    UniqueFd opened(::open(path.c_str(), flags));
    if (opened || errno == ENOENT) return std::pair(std::move(opened), false);
    return os_error(fmt::format("open '{}'", path.string()), errno);
}

}  // namespace

PackLock::PackLock(UniqueFd file, fs::path path, fs::path directory)
    : file_(std::move(file)), path_(std::move(path)), directory_(std::move(directory)) {}

PackLock::PackLock(PackLock&& other) noexcept
    : file_(std::move(other.file_)),
      path_(std::exchange(other.path_, {})),
      directory_(std::move(other.directory_)) {}

PackLock::~PackLock() {
    if (!path_.empty()) (void)::unlink(path_.c_str());
}

// Where flock(2) works, the process that has locked the file holds the lock, so a file that a killed process
// has left does no harm. Elsewhere the process that has created the file holds the lock. Then a file that a
// killed process has left can't be told from one of a running process, and the user must remove it.
Result<PackLock> PackLock::take(fs::path const& directory, std::chrono::milliseconds wait_max) {
    constexpr auto poll_interval = std::chrono::milliseconds(20);
    SystemClock clock;
    auto const id = directory.filename().string();
    auto const path = directory.parent_path() / (std::string(temporary_prefix) + "lock-" + id);
    bool has_flock = true;
    auto const begun = clock.steady_now();
    do {
        DET_TRY_ASSIGN(auto opened, open_lock(path));
        auto& [file, is_new] = opened;
        if (!file) continue;
        bool const is_locked = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
        has_flock = is_locked || errno == EWOULDBLOCK || errno == EINTR;
        bool const is_held = has_flock ? is_locked && has_name(file, path) : is_new;
        if (is_held) {
            remove_temporaries(directory);
            return PackLock(std::move(file), path, directory);
        }
        if (!is_locked) clock.sleep_for(poll_interval);
    } while (clock.steady_now() - begun < wait_max);
    auto hint = has_flock ? std::string("repeat the command when that one has ended")
                          : fmt::format(
                                "if none does, remove '{}': the file system has no flock, so a "
                                "killed process leaves it",
                                path.string());
    return Error{codes::wrong_state,
                 fmt::format("another process packs, unpacks, continues or deletes experiment {}", id),
                 std::move(hint)};
}

}  // namespace det::experiment_pack
