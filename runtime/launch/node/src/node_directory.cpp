#include <det/launch/node/node_directory.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

constexpr char ready_name[] = "ready";

std::string own_directory_name() { return fmt::format("det-{}", ::getuid()); }

/// Whether this is a directory of this user that no other user can enter.
bool is_own(struct stat const& info) {
    return S_ISDIR(info.st_mode) && info.st_uid == ::getuid() && (info.st_mode & 077) == 0;
}

/// Creates a directory that only this user can enter, below a world-writable one. Fails if the name belongs
/// to another user or others can enter the directory, and with no_such_file if another process removes the
/// directory meanwhile.
Status make_own_directory(fs::path const& path) {
    bool const is_new = ::mkdir(path.c_str(), 0700) == 0;
    if ((is_new && ::chmod(path.c_str(), 0700) != 0) || (!is_new && errno != EEXIST))
        return os_error(fmt::format("create '{}'", path.string()), errno);
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return os_error(fmt::format("look at '{}'", path.string()), errno);
    if (is_own(info)) return Ok{};
    return Error{
        codes::unsafe_owner,
        fmt::format("'{}' is not a directory that only this user can enter", path.string()),
        "remove it; or name another directory in DET_LOCAL_DIR; or set DET_LOCAL_SUFFIX, before srun, to "
        "a random word"};
}

struct OwnDirectory {
    fs::path path;
    bool is_of_job = false;
};

/// Creates this user's directory, or one with the suffix if another user has taken the name.
Result<OwnDirectory> own_directory(fs::path const& base, std::string const& local_suffix) {
    auto made = make_users_directory(base);
    if (made) return OwnDirectory{*std::move(made)};
    if (made.error().code != codes::unsafe_owner || local_suffix.empty()) return made.error();
    DET_TRY_ASSIGN(auto of_job, make_users_directory(base, local_suffix));
    return OwnDirectory{std::move(of_job), true};
}

fs::path lock_path(fs::path const& path) { return path.string() + ".gate"; }
fs::path users_path(fs::path const& path) { return path.string() + ".users"; }

Result<UniqueFd> open_lock(fs::path const& path) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return os_error(fmt::format("open '{}'", path.string()), errno);
    return file;
}

enum class IfHeld { wait, give_up };

/// Locks the file. Empty if another process holds the lock and `if_held` is give_up.
Result<std::optional<UniqueFd>> acquire_lock(fs::path const& gate, IfHeld if_held) {
    for (;;) {
        DET_TRY_ASSIGN(auto file, open_lock(gate));
        int const flags = LOCK_EX | (if_held == IfHeld::give_up ? LOCK_NB : 0);
        while (::flock(file.get(), flags) != 0) {
            if (errno == EWOULDBLOCK) return std::optional<UniqueFd>();
            if (errno != EINTR) return os_error(fmt::format("lock '{}'", gate.string()), errno);
        }
        // The last process may have removed the file between open() and flock().
        struct stat held {
        }, there{};
        bool const same = ::fstat(file.get(), &held) == 0 && ::stat(gate.c_str(), &there) == 0 &&
                          held.st_ino == there.st_ino && held.st_dev == there.st_dev;
        if (same) return std::optional(std::move(file));
    }
}

/// Whether no other process uses the directory. Then takes the exclusive lock of its .users file. The caller
/// must hold the lock of its .gate file.
bool is_unused(UniqueFd const& users) { return ::flock(users.get(), LOCK_EX | LOCK_NB) == 0; }

/// Removes the directory and its files if no process uses it. The caller must hold the lock of the .gate
/// file. Never fails; files that can't be removed stay.
void remove_if_unused(fs::path const& path, UniqueFd const& users,
                      NodeDirectory::Leave const& on_leave = {}) {
    if (!is_unused(users)) return;
    if (on_leave) on_leave(path);
    auto const removed = remove_tree(path);
    if (!removed) return;
    ::unlink(users_path(path).c_str());
    ::unlink(lock_path(path).c_str());
}

/// This user's directory, with the lock of a run in it.
struct LockedRun {
    OwnDirectory own;
    UniqueFd gate;
};

/// Locks the .gate file of a run, and makes the directory for it if it is absent. A directory with a suffix
/// is removed by the last process that leaves it, which may be between the two: then it is made again.
Result<LockedRun> lock_run(fs::path const& base, std::string const& local_suffix, std::string const& key) {
    constexpr int attempts_max = 100;  // each means that another process has left in between
    for (int attempt = 1;; ++attempt) {
        auto const try_to_lock = [&]() -> Result<LockedRun> {
            DET_TRY_ASSIGN(auto own, own_directory(base, local_suffix));
            DET_TRY_ASSIGN(auto gate, acquire_lock(lock_path(own.path / key), IfHeld::wait));
            return LockedRun{std::move(own), *std::move(gate)};
        };
        auto locked = try_to_lock();
        if (locked || locked.error().code != codes::no_such_file || attempt == attempts_max) return locked;
    }
}

/// Removes directories of runs that were killed: no process holds their locks any more.
/// \return whether it has removed one
bool remove_left_behind(fs::path const& directory, fs::path const& except) {
    bool has_removed = false;
    auto const names = list_directory(directory);
    if (!names) return false;
    for (auto const& name : *names) {
        fs::path const file = directory / name;
        auto const path = directory / file.stem();
        if (file.extension() != ".users" || path == except) continue;
        auto const gate = acquire_lock(lock_path(path), IfHeld::give_up);
        if (!gate || !*gate) continue;
        auto const users = open_lock(users_path(path));
        if (!users) continue;
        remove_if_unused(path, *users);
        has_removed = has_removed || !path_exists(path);
    }
    return has_removed;
}

/// Removes what killed runs have left in directories with a suffix. Leaves directories alone that have other
/// files, or that other users could have made.
void remove_left_behind_with_suffix(fs::path const& base, fs::path const& except) {
    auto const prefix = own_directory_name() + "-";
    auto const names = list_directory(base);
    if (!names) return;
    for (auto const& name : *names) {
        auto const directory = base / name;
        if (!name.starts_with(prefix) || directory == except.parent_path() || !is_own_directory(directory))
            continue;
        if (remove_left_behind(directory, except)) ::rmdir(directory.c_str());  // fails if it has other files
    }
}

/// NFS, SMB, CIFS, Lustre, GPFS, BeeGFS, Ceph, AFS, 9p, FUSE, PanFS, WekaFS: see statfs(2) and their sources.
constexpr std::uint32_t shared_file_systems[] = {0x6969,     0xFE534D42, 0xFF534D42, 0x0BD00BD0,
                                                 0x47504653, 0x19830326, 0x00C36400, 0x5346414F,
                                                 0x01021997, 0x65735546, 0xAAD7AAEA, 0x18031977};

}  // namespace

bool is_shared_by_nodes(std::uint32_t file_system_magic) {
    return std::ranges::find(shared_file_systems, file_system_magic) != std::end(shared_file_systems);
}

std::string local_directory_name(fs::path const& base, std::string const& run_key, std::string const& node) {
    struct statfs info {};
    bool const is_shared =
        ::statfs(base.c_str(), &info) == 0 && is_shared_by_nodes(static_cast<std::uint32_t>(info.f_type));
    return is_shared ? fmt::format("{}-{}", run_key, node) : run_key;
}

fs::path users_directory(fs::path const& base, std::string const& local_suffix) {
    auto const name = own_directory_name();
    return base / (local_suffix.empty() ? name : fmt::format("{}-{}", name, local_suffix));
}

Result<fs::path> make_users_directory(fs::path const& base, std::string const& local_suffix) {
    auto path = users_directory(base, local_suffix);
    DET_TRY(make_own_directory(path));
    return path;
}

bool is_own_directory(fs::path const& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && is_own(info);
}

Result<NodeDirectory> NodeDirectory::enter(fs::path const& base, std::string const& key,
                                           Prepare const& prepare, Leave on_leave,
                                           std::string const& local_suffix) {
    for (auto const* name : {&key, &local_suffix}) {
        bool const is_name = !name->empty() && name->front() != '.' && name->find('/') == std::string::npos;
        if (is_name || (name == &local_suffix && name->empty())) continue;
        return Error{codes::bad_value, fmt::format("'{}' can't name a run's directory", *name)};
    }
    DET_TRY_ASSIGN(auto const locked, lock_run(base, local_suffix, key));
    auto const& parent = locked.own.path;
    auto const path = parent / key;
    DET_TRY_ASSIGN(auto users, open_lock(users_path(path)));
    // If no process uses the directory, its content was left by processes that were killed.
    bool const first = is_unused(users);
    ::flock(users.get(), LOCK_SH);
    if (first || !path_exists(path / ready_name)) {
        remove_left_behind(parent, path);
        remove_left_behind_with_suffix(base, path);
        DET_TRY(remove_tree(path));
        DET_TRY(make_directory(path, 0700));
        DET_TRY(prepare(path));
        DET_TRY(write_file(path / ready_name, ""));
    }
    return NodeDirectory(path, std::move(users), std::move(on_leave), locked.own.is_of_job);
}

NodeDirectory::~NodeDirectory() {
    if (!users_) return;
    auto const gate = acquire_lock(lock_path(path_), IfHeld::wait);
    if (gate) remove_if_unused(path_, users_, on_leave_);
    if (is_parent_of_job_) ::rmdir(path_.parent_path().c_str());  // fails while it has other files
}

}  // namespace det::launch::node
