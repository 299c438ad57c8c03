// Directories: names that are made, removed and listed.
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/limits.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nfs_client.hpp"

namespace det::faults {
namespace {

int error_of(int result) { return result == 0 ? 0 : errno; }

/// Files that are made belong to the process that asks for it, from the first moment on: another host would
/// cache another owner. All permissions of root stay, because the kernel has checked those of the process.
class ActingAs {
public:
    explicit ActingAs(fuse_in_header const& caller) {
        ::setfsgid(caller.gid);
        ::setfsuid(caller.uid);
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3] = {};
        if (::syscall(SYS_capget, &header, capabilities) != 0) return;
        for (auto& part : capabilities) part.effective = part.permitted;
        ::syscall(SYS_capset, &header, capabilities);
    }
    ~ActingAs() {
        ::setfsuid(0);
        ::setfsgid(0);
    }
    ActingAs(ActingAs const&) = delete;
    ActingAs& operator=(ActingAs const&) = delete;
};

std::string make_record(std::uint64_t inode, std::uint64_t next, std::uint32_t type, std::string_view name) {
    fuse_dirent record{};
    record.ino = inode;
    record.off = next;
    record.namelen = static_cast<std::uint32_t>(name.size());
    record.type = type;
    std::string bytes(reinterpret_cast<char const*>(&record), FUSE_NAME_OFFSET);
    bytes += name;
    bytes.resize(FUSE_REC_ALIGN(bytes.size()));
    return bytes;
}

/// The directory's records for the kernel.
std::vector<std::string> read_records(int directory) {
    std::vector<std::string> records;
    auto* const stream = ::fdopendir(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (stream == nullptr) return records;
    while (auto const* entry = ::readdir(stream))
        records.push_back(make_record(entry->d_ino, records.size() + 1, entry->d_type, entry->d_name));
    ::closedir(stream);
    return records;
}

}  // namespace

/// Carries out an operation on a name. Returns an errno. What this host has cached of the directory stays
/// valid if no other host has changed the directory meanwhile: the server's reply says what was before and
/// after.
template <class Operation>
int NfsClient::change_directory(Inode const& directory, std::string const& name, Operation const& operation) {
    struct stat before {
    }, after{};
    if (::fstatat(directory->path.get(), "", &before, AT_EMPTY_PATH) != 0) return errno;
    bool const is_current = change_attribute(before) == directory->change;
    int const failed = operation();
    if (!is_current) directory->names.clear();
    directory->names.erase(name);
    if (::fstatat(directory->path.get(), "", &after, AT_EMPTY_PATH) != 0) return errno;
    directory->attributes = after;
    directory->change = change_attribute(after);
    directory->valid_until = valid_until();
    return failed;
}

/// Makes a file or directory by a system call and answers with it.
template <class Call>
FuseAnswer NfsClient::make_entry(FuseRequest const& request, std::string const& name, Call const& call) {
    auto const directory = inodes_.find(request.header().nodeid);
    int const failed = change_directory(directory, name, [&] {
        ActingAs const caller(request.header());
        return lost_replies_.carry_out([&] { return error_of(call(directory->path.get())); });
    });
    if (failed != 0) return FuseAnswer::failure(failed);
    return look_up_on_server(directory, name);
}

FuseAnswer NfsClient::make_directory(FuseRequest const& request) {
    auto const wanted = request.argument<fuse_mkdir_in>();
    auto const name = request.names(sizeof wanted)[0];
    return make_entry(request, name,
                      [&](int directory) { return ::mkdirat(directory, name.c_str(), wanted.mode); });
}

FuseAnswer NfsClient::make_node(FuseRequest const& request) {
    auto const wanted = request.argument<fuse_mknod_in>();
    auto const name = request.names(sizeof wanted)[0];
    return make_entry(request, name, [&](int directory) {
        return ::mknodat(directory, name.c_str(), wanted.mode, wanted.rdev);
    });
}

FuseAnswer NfsClient::make_symbolic_link(FuseRequest const& request) {
    auto const names = request.names();
    return make_entry(request, names[0], [&](int directory) {
        return ::symlinkat(names[1].c_str(), directory, names[0].c_str());
    });
}

FuseAnswer NfsClient::make_link(FuseRequest const& request) {
    auto const directory = inodes_.find(request.header().nodeid);
    auto const wanted = request.argument<fuse_link_in>();
    auto const inode = inodes_.find(wanted.oldnodeid);
    auto const name = request.names(sizeof wanted)[0];
    if (inode == nullptr) return FuseAnswer::failure(ESTALE);
    int const failed = change_directory(directory, name, [&] {
        return lost_replies_.carry_out([&] {
            return error_of(::linkat(AT_FDCWD, inode->proc_path().c_str(), directory->path.get(),
                                     name.c_str(), AT_SYMLINK_FOLLOW));
        });
    });
    // The reply has the file's new attributes, also after a failure.
    static_cast<void>(inode->refresh(valid_until()));
    if (failed != 0) return FuseAnswer::failure(failed);
    return look_up_on_server(directory, name);
}

FuseAnswer NfsClient::create_file(FuseRequest const& request) {
    auto const directory = inodes_.find(request.header().nodeid);
    auto const wanted = request.argument<fuse_create_in>();
    auto const name = request.names(sizeof wanted)[0];
    int const failed = change_directory(directory, name, [&] {
        ActingAs const caller(request.header());
        // A repeated exclusive creation succeeds: the request has a number that the server remembers.
        return lost_replies_.carry_out_idempotent([&] {
            constexpr int exclusive = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
            UniqueFd const made(::openat(directory->path.get(), name.c_str(), exclusive, wanted.mode));
            bool const may_exist = !made && errno == EEXIST && (wanted.flags & O_EXCL) == 0;
            return made || may_exist ? 0 : errno;
        });
    });
    if (failed != 0) return FuseAnswer::failure(failed);
    auto entry = look_up_on_server(directory, name);
    if (entry.error != 0) return entry;
    auto const handle = add_open_file(directory->names[name], wanted.flags);
    if (handle == 0) return FuseAnswer::failure(errno);
    fuse_open_out out{};
    out.fh = handle;
    if ((wanted.flags & O_APPEND) != 0) out.open_flags = FOPEN_DIRECT_IO;
    entry.bytes.append(reinterpret_cast<char const*>(&out), sizeof out);
    return entry;
}

/// A file that is removed or replaced here while it is open here gets another name until it is closed.
/// Returns whether it did.
bool NfsClient::hide_if_open(Inode const& directory, std::string const& name) {
    UniqueFd path(::openat(directory->path.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    auto const inode = path ? inodes_.intern(std::move(path)) : nullptr;
    if (inode == nullptr || inode->open_count == 0 || !S_ISREG(inode->attributes.st_mode)) return false;
    auto const hidden = fmt::format(".nfs{:016x}{:08x}", inode->attributes.st_ino, ++last_hidden_);
    if (::renameat(directory->path.get(), name.c_str(), directory->path.get(), hidden.c_str()) != 0)
        return false;
    inode->hidden_names.push_back({UniqueFd(::fcntl(directory->path.get(), F_DUPFD_CLOEXEC, 0)), hidden});
    return true;
}

FuseAnswer NfsClient::remove_file(FuseRequest const& request) {
    auto const directory = inodes_.find(request.header().nodeid);
    auto const name = request.names()[0];
    int const failed = change_directory(directory, name, [&] {
        bool const is_hidden = hide_if_open(directory, name);
        return lost_replies_.carry_out(
            [&] { return is_hidden ? 0 : error_of(::unlinkat(directory->path.get(), name.c_str(), 0)); });
    });
    if (failed == 0) directory->names[name] = nullptr;
    return FuseAnswer::failure(failed);
}

FuseAnswer NfsClient::remove_directory(FuseRequest const& request) {
    auto const directory = inodes_.find(request.header().nodeid);
    auto const name = request.names()[0];
    int const failed = change_directory(directory, name, [&] {
        return lost_replies_.carry_out(
            [&] { return error_of(::unlinkat(directory->path.get(), name.c_str(), AT_REMOVEDIR)); });
    });
    if (failed == 0) directory->names[name] = nullptr;
    return FuseAnswer::failure(failed);
}

FuseAnswer NfsClient::rename_entry(FuseRequest const& request) {
    bool const has_flags = request.header().opcode == FUSE_RENAME2;
    auto const wanted = request.argument<fuse_rename2_in>();
    if (has_flags && wanted.flags != 0) return FuseAnswer::failure(EINVAL);  // NFS has none
    auto const names = request.names(has_flags ? sizeof(fuse_rename2_in) : sizeof(fuse_rename_in));
    auto const from = inodes_.find(request.header().nodeid), to = inodes_.find(wanted.newdir);
    if (to == nullptr) return FuseAnswer::failure(ESTALE);
    int const failed = change_directory(from, names[0], [&] {
        return change_directory(to, names[1], [&] {
            hide_if_open(to, names[1]);
            return lost_replies_.carry_out([&] {
                return error_of(
                    ::renameat(from->path.get(), names[0].c_str(), to->path.get(), names[1].c_str()));
            });
        });
    });
    if (failed == 0) from->names[names[0]] = nullptr;
    return FuseAnswer::failure(failed);
}

FuseAnswer NfsClient::read_link(FuseRequest const& request) {
    char target[PATH_MAX];
    auto const size =
        ::readlinkat(inodes_.find(request.header().nodeid)->path.get(), "", target, sizeof target);
    if (size < 0) return FuseAnswer::failure(errno);
    return {0, std::string(target, static_cast<std::size_t>(size)), false};
}

/// The server is asked at each open, and cached names are dropped if the directory has changed.
FuseAnswer NfsClient::open_directory(FuseRequest const& request) {
    auto const directory = inodes_.find(request.header().nodeid);
    if (int const failed = directory->refresh(valid_until()); failed != 0) {
        inodes_.drop_names_of(directory);
        return FuseAnswer::failure(failed);
    }
    fuse_open_out out{};
    out.fh = ++last_handle_;
    open_directories_[out.fh] = {};
    return FuseAnswer::of(out);
}

FuseAnswer NfsClient::list_directory(FuseRequest const& request) {
    auto const wanted = request.argument<fuse_read_in>();
    auto const found = open_directories_.find(wanted.fh);
    if (found == open_directories_.end()) return FuseAnswer::failure(EBADF);
    if (wanted.offset == 0) found->second = read_records(inodes_.find(request.header().nodeid)->path.get());
    FuseAnswer answer;
    for (auto i = static_cast<std::size_t>(wanted.offset); i < found->second.size(); ++i) {
        if (answer.bytes.size() + found->second[i].size() > wanted.size) break;
        answer.bytes += found->second[i];
    }
    return answer;
}

FuseAnswer NfsClient::release_directory(FuseRequest const& request) {
    open_directories_.erase(request.argument<fuse_release_in>().fh);
    return {};
}

/// The server has written names before it has replied.
FuseAnswer NfsClient::sync_directory(FuseRequest const&) {
    return FuseAnswer::failure(lost_replies_.carry_out_idempotent([] { return 0; }));
}

}  // namespace det::faults
