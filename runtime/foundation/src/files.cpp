#include <det/foundation/descriptor_contents.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/temporary_names.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random_words.hpp"

namespace det {
namespace {

namespace fs = std::filesystem;

std::string quoted(fs::path const& path) { return fmt::format("'{}'", path.string()); }

/// A unique temporary name in the directory of `path`. A pid alone is not unique on a shared file system.
fs::path temporary_beside(fs::path const& path) {
    auto const [a, b] = random_words<2>();
    return path.parent_path() / fmt::format(".{}.{:08x}{:08x}.tmp", path.filename().string(), a, b);
}

/// Removes a temporary file unless it was renamed to its final name.
class TemporaryFile {
public:
    explicit TemporaryFile(fs::path path) : path_(std::move(path)) {}
    ~TemporaryFile() {
        if (!path_.empty()) ::unlink(path_.c_str());
    }
    TemporaryFile(TemporaryFile const&) = delete;
    TemporaryFile& operator=(TemporaryFile const&) = delete;
    fs::path const& path() const { return path_; }
    void keep() { path_.clear(); }

private:
    fs::path path_;
};

Status create_with(fs::path const& path, std::string_view bytes, mode_t mode, Durability durability) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file) return os_error("create " + quoted(path), errno);
    // Sets the requested mode independently of the umask.
    if (::fchmod(file.get(), mode) != 0) return os_error("set the mode of " + quoted(path), errno);
    DET_TRY(write_all(file.get(), bytes, path.string()));
    if (durability == Durability::power_loss && ::fsync(file.get()) != 0) {
        return os_error("sync " + quoted(path), errno);
    }
    // NFS and quotas may report a full disk only at close.
    if (::close(file.release()) != 0) return os_error("write " + quoted(path), errno);
    return Ok{};
}

Status replace_file(fs::path const& path, std::string_view bytes, mode_t mode, Durability durability) {
    TemporaryFile temporary(temporary_beside(path));
    DET_TRY(create_with(temporary.path(), bytes, mode, durability));
    if (rename_own(temporary.path(), path) != 0) return os_error("write " + quoted(path), errno);
    temporary.keep();
    return durability == Durability::power_loss ? sync_directory(path.parent_path()) : Status(Ok{});
}

Result<bool> link_bytes(fs::path const& path, std::string_view bytes, mode_t mode, Durability durability) {
    TemporaryFile temporary(temporary_beside(path));
    DET_TRY(create_with(temporary.path(), bytes, mode, durability));
    return link_new_file(temporary.path(), path);
}

/// Whether the server has this file under the name. An NFS client that has had no reply to a change still has
/// the names of before; it asks the server about them once the directory is opened.
bool is_file_on_server(fs::path const& path, struct stat const& file) {
    auto const parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    UniqueFd const directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && info.st_dev == file.st_dev && info.st_ino == file.st_ino;
}

/// Does nothing without an owner: the file is in no tree of another user.
Status check_owner_if_foreign(UniqueFd const& file, fs::path const& path, std::optional<uid_t> owner) {
    struct stat info {};
    if (!owner) return Ok{};
    if (::fstat(file.get(), &info) != 0) return os_error("read " + quoted(path), errno);
    return check_foreign_owner(info, path, *owner);
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = other.release();
    }
    return *this;
}

void UniqueFd::reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<std::string> read_file(fs::path const& path, std::size_t limit_bytes) {
    auto const owner = foreign_owner_of(path);
    if (owner) limit_bytes = std::min(limit_bytes, foreign_file_limit_bytes);
    return read_current([&]() -> Result<std::string> {
        // O_NONBLOCK: opening a FIFO must not block.
        UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (owner ? O_NOFOLLOW : 0)));
        if (!file) return os_error("open " + quoted(path), errno);
        DET_TRY(check_owner_if_foreign(file, path, owner));
        return read_descriptor(file.get(), path, limit_bytes);
    });
}

Result<std::string> read_descriptor(int descriptor, fs::path const& path, std::size_t limit_bytes) {
    struct stat info {};
    auto const failure = [&] {
        int const reason = errno;
        auto error = os_error("read " + quoted(path), reason);
        errno = reason;
        return error;
    };
    if (::fstat(descriptor, &info) != 0) return failure();
    if (S_ISDIR(info.st_mode))
        return Error{codes::not_a_file, quoted(path) + " is a directory", "name a file"};
    if (!S_ISREG(info.st_mode))
        return Error{codes::not_a_file, quoted(path) + " is not a regular file", "name a file"};

    std::string bytes;
    bytes.resize(std::min(static_cast<std::size_t>(info.st_size), limit_bytes) + 1);
    std::size_t size = 0;
    for (;;) {
        auto const count = ::read(descriptor, bytes.data() + size, bytes.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failure();
        if (count == 0) break;
        size += static_cast<std::size_t>(count);
        if (size > limit_bytes) {
            return Error{codes::document_too_large,
                         fmt::format("{} is larger than {}", quoted(path), format_size(limit_bytes))};
        }
        if (size == bytes.size()) bytes.resize(std::min(bytes.size() * 2, limit_bytes + 1));
    }
    bytes.resize(size);
    return bytes;
}

bool shares_new_files(fs::path const& directory) {
    struct stat info {};
    constexpr mode_t group_bits = S_ISGID | S_IRGRP | S_IWGRP | S_IXGRP;
    return ::stat(directory.c_str(), &info) == 0 && info.st_uid == ::geteuid() &&
           (info.st_mode & group_bits) == (S_ISGID | S_IRGRP | S_IXGRP);
}

mode_t mode_of_new_file(fs::path const& path, mode_t mode) {
    bool const is_private = mode == 0600 || mode == 0700;
    if (!is_private || !shares_new_files(path.parent_path())) return mode;
    return mode == 0600 ? 0640 : 0750;
}

void share_new_file(int descriptor, fs::path const& path) {
    if (shares_new_files(path.parent_path())) (void)::fchmod(descriptor, 0640);
}

Status write_file(fs::path const& path, std::string_view bytes, mode_t mode, Durability durability) {
    return replace_file(path, bytes, mode_of_new_file(path, mode), durability);
}

Status write_secret_file(fs::path const& path, std::string_view bytes) {
    return replace_file(path, bytes, 0600, Durability::process_crash);
}

Result<bool> write_new_file(fs::path const& path, std::string_view bytes, mode_t mode,
                            Durability durability) {
    return link_bytes(path, bytes, mode_of_new_file(path, mode), durability);
}

Result<bool> write_new_secret_file(fs::path const& path, std::string_view bytes) {
    return link_bytes(path, bytes, 0600, Durability::process_crash);
}

Result<bool> link_new_file(fs::path const& from, fs::path const& to) {
    if (::link(from.c_str(), to.c_str()) == 0) return true;
    int const failed = errno;
    struct stat info = {};
    bool const is_known = ::stat(from.c_str(), &info) == 0;
    // If the answer to a request is lost, an NFSv3 client sends it again. The server has already made the
    // link and answers EEXIST, with the number of links. The second one is then `to`.
    if (failed == EEXIST) return is_known && info.st_nlink > 1;
    // A soft mount has given up. An NFSv4 client still has the number of links of before.
    if (is_known && is_file_on_server(to, info)) return true;
    return os_error("create " + quoted(to), failed);
}

int rename_own(fs::path const& from, fs::path const& to) {
    struct stat info = {};
    bool const is_known = ::lstat(from.c_str(), &info) == 0;
    if (::rename(from.c_str(), to.c_str()) == 0) return 0;
    int const failed = errno;
    bool const is_renamed = is_known && is_file_on_server(to, info);
    errno = failed;
    return is_renamed ? 0 : -1;
}

Status write_all(int fd, std::string_view bytes, std::string_view what) {
    while (!bytes.empty()) {
        auto const count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("write '{}'", what), errno);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return Ok{};
}

Result<bool> make_directory(fs::path const& path, mode_t mode) {
    if (::mkdir(path.c_str(), mode) == 0) {
        if (auto const shared = mode_of_new_file(path, mode); shared != mode) mode = shared | S_ISGID;
        if (::chmod(path.c_str(), mode) != 0) return os_error("set the mode of " + quoted(path), errno);
        return true;
    }
    int const reason = errno;
    struct stat info {};
    if (reason == EEXIST && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return false;
    if (reason == EEXIST)
        return Error{codes::not_a_directory, quoted(path) + " is there and is not a directory"};
    return os_error("make the directory " + quoted(path), reason);
}

Status make_directories(fs::path const& path, mode_t mode) {
    if (path.has_parent_path() && path != path.root_path() && !path_exists(path.parent_path())) {
        DET_TRY(make_directories(path.parent_path(), mode));
    }
    bool const was_absent = !path_exists(path);
    DET_TRY_ASSIGN(bool const is_new, make_directory(path, mode));
    // Made by a process that does the same at the same time, or by this one: the reply of an NFS server was
    // lost, and the request repeated. Then it has not got its mode.
    bool const may_lack_mode = !is_new && was_absent && mode_of_new_file(path, mode) != mode;
    if (may_lack_mode) (void)make_own_directory(path, mode);
    return Ok{};
}

Status sync_directory(fs::path const& path) {
    UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || ::fsync(directory.get()) != 0)
        return os_error("sync the directory " + quoted(path), errno);
    return Ok{};
}

Result<std::vector<std::string>> list_directory(fs::path const& path) {
    auto const owner = foreign_owner_of(path);
    UniqueFd directory(
        ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | (owner ? O_NOFOLLOW : 0)));
    if (!directory && errno == ENOENT) return std::vector<std::string>();
    if (!directory) return os_error("list " + quoted(path), errno);
    DET_TRY(check_owner_if_foreign(directory, path, owner));
    return list_descriptor(std::move(directory), path);
}

Result<std::vector<std::string>> list_descriptor(UniqueFd descriptor, fs::path const& path) {
    auto const close = [](DIR* directory) { ::closedir(directory); };
    std::unique_ptr<DIR, decltype(close)> const directory(::fdopendir(descriptor.get()), close);
    if (directory == nullptr) return os_error("list " + quoted(path), errno);
    (void)descriptor.release();
    std::vector<std::string> names;
    bool const is_foreign = foreign_owner_of(path).has_value();
    for (;;) {
        if (is_foreign && names.size() > foreign_names_max)
            return Error{codes::document_too_large,
                         fmt::format("{} has more than {} entries", quoted(path), foreign_names_max)};
        errno = 0;
        auto const* entry = ::readdir(directory.get());
        if (entry == nullptr) break;
        std::string_view const name(entry->d_name);
        if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return os_error("list " + quoted(path), errno);
    std::sort(names.begin(), names.end());
    return names;
}

bool path_exists(fs::path const& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0;
}

Status remove_tree(fs::path const& path) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return os_error("remove " + quoted(path), error.value());
    return Ok{};
}

}  // namespace det
