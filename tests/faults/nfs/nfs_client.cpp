#include "nfs_client.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace det::faults {

/// A file that a process of this host has open.
struct NfsClient::OpenFile {
    Inode inode;
    std::uint32_t flags = 0;
    UniqueFd lock;  // for flock(2); opened when it is needed

    bool is_writable() const { return (flags & O_ACCMODE) != O_RDONLY; }
    bool appends() const { return (flags & O_APPEND) != 0; }
    bool writes_through() const { return (flags & (O_DIRECT | O_DSYNC)) != 0; }
};

NfsClient::Handler const NfsClient::handlers[] = {
    {FUSE_LOOKUP, &NfsClient::look_up},
    {FUSE_FORGET, &NfsClient::forget},
    {FUSE_BATCH_FORGET, &NfsClient::forget},
    {FUSE_GETATTR, &NfsClient::get_attributes},
    {FUSE_SETATTR, &NfsClient::set_attributes},
    {FUSE_OPEN, &NfsClient::open_file},
    {FUSE_READ, &NfsClient::read_file},
    {FUSE_WRITE, &NfsClient::write_file},
    {FUSE_FLUSH, &NfsClient::flush_file},
    {FUSE_FSYNC, &NfsClient::sync_file},
    {FUSE_RELEASE, &NfsClient::release_file},
    {FUSE_SETLK, &NfsClient::lock_file},
    {FUSE_SETLKW, &NfsClient::lock_file},
    {FUSE_INTERRUPT, &NfsClient::interrupt},
    {FUSE_STATFS, &NfsClient::describe_file_system},
    {FUSE_MKDIR, &NfsClient::make_directory},
    {FUSE_MKNOD, &NfsClient::make_node},
    {FUSE_SYMLINK, &NfsClient::make_symbolic_link},
    {FUSE_LINK, &NfsClient::make_link},
    {FUSE_CREATE, &NfsClient::create_file},
    {FUSE_UNLINK, &NfsClient::remove_file},
    {FUSE_RMDIR, &NfsClient::remove_directory},
    {FUSE_RENAME, &NfsClient::rename_entry},
    {FUSE_RENAME2, &NfsClient::rename_entry},
    {FUSE_READLINK, &NfsClient::read_link},
    {FUSE_OPENDIR, &NfsClient::open_directory},
    {FUSE_READDIR, &NfsClient::list_directory},
    {FUSE_RELEASEDIR, &NfsClient::release_directory},
    {FUSE_FSYNCDIR, &NfsClient::sync_directory},
};

NfsClient::NfsClient(UniqueFd root, NfsOptions options) : options_(options), inodes_(std::move(root)) {}
NfsClient::~NfsClient() = default;

fuse_attr to_fuse(struct stat const& attributes) {
    fuse_attr attr{};
    attr.ino = attributes.st_ino;
    attr.size = static_cast<std::uint64_t>(attributes.st_size);
    attr.blocks = static_cast<std::uint64_t>(attributes.st_blocks);
    attr.atime = static_cast<std::uint64_t>(attributes.st_atim.tv_sec);
    attr.mtime = static_cast<std::uint64_t>(attributes.st_mtim.tv_sec);
    attr.ctime = static_cast<std::uint64_t>(attributes.st_ctim.tv_sec);
    attr.atimensec = static_cast<std::uint32_t>(attributes.st_atim.tv_nsec);
    attr.mtimensec = static_cast<std::uint32_t>(attributes.st_mtim.tv_nsec);
    attr.ctimensec = static_cast<std::uint32_t>(attributes.st_ctim.tv_nsec);
    attr.mode = attributes.st_mode;
    attr.nlink = static_cast<std::uint32_t>(attributes.st_nlink);
    attr.uid = attributes.st_uid;
    attr.gid = attributes.st_gid;
    attr.rdev = static_cast<std::uint32_t>(attributes.st_rdev);
    attr.blksize = static_cast<std::uint32_t>(attributes.st_blksize);
    return attr;
}

FuseAnswer NfsClient::handle(FuseRequest const& request) {
    auto const header = request.header();
    if (header.opcode == FUSE_INIT) return initialise(request);
    auto const handler = std::ranges::find(handlers, header.opcode, &Handler::operation);
    // The kernel does without the operation, or fails it with EOPNOTSUPP.
    if (handler == std::end(handlers)) return FuseAnswer::failure(ENOSYS);
    if (inodes_.find(header.nodeid) == nullptr && header.opcode != FUSE_BATCH_FORGET &&
        header.opcode != FUSE_FORGET && header.opcode != FUSE_INTERRUPT)
        return FuseAnswer::failure(ESTALE);
    return (this->*handler->handle)(request);
}

FuseAnswer NfsClient::initialise(FuseRequest const& request) {
    auto const wanted = request.argument<fuse_init_in>();
    constexpr std::uint32_t minor = 31;  // later ones add nothing that is needed here
    fuse_init_out out{};
    out.major = FUSE_KERNEL_VERSION;
    out.minor = std::min(wanted.minor, minor);
    out.max_readahead = wanted.max_readahead;
    // The kernel drops its pages of a file when the size or the time of modification has changed.
    out.flags = wanted.flags & (FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_AUTO_INVAL_DATA | FUSE_FLOCK_LOCKS |
                                FUSE_PARALLEL_DIROPS);
    out.max_background = 16;
    out.congestion_threshold = 12;
    out.max_write = FuseChannel::write_max_bytes;
    out.time_gran = 1;
    return FuseAnswer::of(out);
}

int NfsClient::revalidate(Inode const& inode) {
    if (std::chrono::steady_clock::now() < inode->valid_until) return 0;
    return inode->refresh(valid_until());
}

/// The kernel's own caches of names and attributes stay off: each question arrives here, and is answered with
/// what an NFS client has cached.
FuseAnswer NfsClient::answer_entry(Inode const& inode) {
    inodes_.add_lookup(inode);
    fuse_entry_out out{};
    out.nodeid = inode->id;
    out.attr = to_fuse(inode->local_attributes());
    return FuseAnswer::of(out);
}

FuseAnswer NfsClient::look_up(FuseRequest const& request) {
    auto const directory = inodes_.find(request.header().nodeid);
    auto const name = request.names()[0];
    if (int const failed = revalidate(directory); failed != 0) return FuseAnswer::failure(failed);
    auto const known = directory->names.find(name);
    if (known == directory->names.end()) return look_up_on_server(directory, name);
    if (known->second == nullptr) return FuseAnswer::failure(ENOENT);
    auto const inode = known->second;
    if (revalidate(inode) == 0) return answer_entry(inode);
    inodes_.drop_names_of(inode);
    return look_up_on_server(directory, name);
}

FuseAnswer NfsClient::look_up_on_server(Inode const& directory, std::string const& name) {
    UniqueFd path(::openat(directory->path.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!path && errno != ENOENT) return FuseAnswer::failure(errno);
    if (!path) {
        directory->names[name] = nullptr;
        return FuseAnswer::failure(ENOENT);
    }
    auto const inode = inodes_.intern(std::move(path));
    if (inode == nullptr) return FuseAnswer::failure(EIO);
    if (int const failed = inode->refresh(valid_until()); failed != 0) return FuseAnswer::failure(failed);
    directory->names[name] = inode;
    return answer_entry(inode);
}

FuseAnswer NfsClient::forget(FuseRequest const& request) {
    if (request.header().opcode == FUSE_FORGET) {
        inodes_.forget(request.header().nodeid, request.argument<fuse_forget_in>().nlookup);
        return FuseAnswer::none();
    }
    auto const items = request.rest(sizeof(fuse_batch_forget_in));
    fuse_forget_one item{};
    for (std::size_t at = 0; at + sizeof item <= items.size(); at += sizeof item) {
        std::memcpy(&item, items.data() + at, sizeof item);
        inodes_.forget(item.nodeid, item.nlookup);
    }
    return FuseAnswer::none();
}

FuseAnswer NfsClient::get_attributes(FuseRequest const& request) {
    auto const inode = inodes_.find(request.header().nodeid);
    if (int const failed = revalidate(inode); failed != 0) {
        inodes_.drop_names_of(inode);
        return FuseAnswer::failure(failed);
    }
    fuse_attr_out out{};
    out.attr = to_fuse(inode->local_attributes());
    return FuseAnswer::of(out);
}

FuseAnswer NfsClient::set_attributes(FuseRequest const& request) {
    auto const inode = inodes_.find(request.header().nodeid);
    // An NFS client writes the data first, so that their time of modification is older.
    int failed = write_back(*inode);
    if (failed == 0)
        failed = lost_replies_.carry_out_idempotent(
            [&] { return change_attributes(inode, request.argument<fuse_setattr_in>()); });
    int const stale = inode->refresh(valid_until());
    if (failed != 0 || stale != 0) return FuseAnswer::failure(failed != 0 ? failed : stale);
    fuse_attr_out out{};
    out.attr = to_fuse(inode->attributes);
    return FuseAnswer::of(out);
}

int NfsClient::change_attributes(Inode const& inode, fuse_setattr_in const& wanted) {
    auto const path = inode->proc_path();
    if ((wanted.valid & FATTR_MODE) != 0 && ::chmod(path.c_str(), wanted.mode & 07777) != 0) return errno;
    if ((wanted.valid & (FATTR_UID | FATTR_GID)) != 0) {
        auto const user = (wanted.valid & FATTR_UID) != 0 ? wanted.uid : static_cast<uid_t>(-1);
        auto const group = (wanted.valid & FATTR_GID) != 0 ? wanted.gid : static_cast<gid_t>(-1);
        if (::fchownat(inode->path.get(), "", user, group, AT_EMPTY_PATH) != 0) return errno;
    }
    if ((wanted.valid & FATTR_SIZE) != 0 && ::truncate(path.c_str(), static_cast<off_t>(wanted.size)) != 0)
        return errno;
    if ((wanted.valid & (FATTR_ATIME | FATTR_MTIME)) == 0) return 0;
    timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
    if ((wanted.valid & FATTR_ATIME_NOW) != 0)
        times[0].tv_nsec = UTIME_NOW;
    else if ((wanted.valid & FATTR_ATIME) != 0)
        times[0] = {static_cast<time_t>(wanted.atime), wanted.atimensec};
    if ((wanted.valid & FATTR_MTIME_NOW) != 0)
        times[1].tv_nsec = UTIME_NOW;
    else if ((wanted.valid & FATTR_MTIME) != 0)
        times[1] = {static_cast<time_t>(wanted.mtime), wanted.mtimensec};
    return ::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0 ? 0 : errno;
}

FuseAnswer NfsClient::open_file(FuseRequest const& request) {
    auto const inode = inodes_.find(request.header().nodeid);
    auto const flags = request.argument<fuse_open_in>().flags;
    // The server is asked at each open: close-to-open consistency. After ESTALE the kernel looks the name up
    // again.
    if (int const failed = inode->refresh(valid_until()); failed != 0) {
        inodes_.drop_names_of(inode);
        return FuseAnswer::failure(failed);
    }
    auto const handle = add_open_file(inode, flags);
    if (handle == 0) return FuseAnswer::failure(errno);
    fuse_open_out out{};
    out.fh = handle;
    // The end of the file is that of the server at the time of the write, not that of the kernel's cache.
    if ((flags & O_APPEND) != 0) out.open_flags = FOPEN_DIRECT_IO;
    return FuseAnswer::of(out);
}

/// Returns 0, and sets errno, after a failure.
std::uint64_t NfsClient::add_open_file(Inode const& inode, std::uint32_t flags) {
    if (!inode->data) inode->data = UniqueFd(::open(inode->proc_path().c_str(), O_RDWR | O_CLOEXEC));
    if (!inode->data) inode->data = UniqueFd(::open(inode->proc_path().c_str(), O_RDONLY | O_CLOEXEC));
    if (!inode->data) return 0;
    ++inode->open_count;
    open_files_[++last_handle_] = std::make_unique<OpenFile>(OpenFile{inode, flags, {}});
    return last_handle_;
}

FuseAnswer NfsClient::read_file(FuseRequest const& request) {
    auto const wanted = request.argument<fuse_read_in>();
    auto const inode = inodes_.find(request.header().nodeid);
    struct stat now {};
    if (!inode->data || ::fstat(inode->data.get(), &now) != 0) return FuseAnswer::failure(EIO);
    if (now.st_nlink == 0) return FuseAnswer::failure(ESTALE);
    auto const size = std::max(static_cast<std::uint64_t>(now.st_size), inode->dirty.end());
    std::string bytes(std::min<std::uint64_t>(wanted.size, size - std::min(size, wanted.offset)), '\0');
    if (::pread(inode->data.get(), bytes.data(), bytes.size(), static_cast<off_t>(wanted.offset)) < 0)
        return FuseAnswer::failure(errno);
    inode->dirty.overlay(wanted.offset, bytes);
    return {0, std::move(bytes), false};
}

FuseAnswer NfsClient::write_file(FuseRequest const& request) {
    auto const wanted = request.argument<fuse_write_in>();
    auto const inode = inodes_.find(request.header().nodeid);
    auto const found = open_files_.find(wanted.fh);
    if (found == open_files_.end() || !inode->data) return FuseAnswer::failure(EBADF);
    struct stat now {};
    if (::fstat(inode->data.get(), &now) != 0) return FuseAnswer::failure(errno);
    if (now.st_nlink == 0) return FuseAnswer::failure(ESTALE);
    auto const end = std::max(static_cast<std::uint64_t>(now.st_size), inode->dirty.end());
    auto const offset = found->second->appends() ? end : wanted.offset;
    inode->dirty.write(offset, request.rest(sizeof(fuse_write_in)).substr(0, wanted.size),
                       std::chrono::steady_clock::now());
    constexpr std::uint64_t dirty_max_bytes = 32 << 20;
    if (found->second->writes_through() || inode->dirty.size_bytes() > dirty_max_bytes)
        if (int const failed = write_back(*inode); failed != 0) return FuseAnswer::failure(failed);
    fuse_write_out out{};
    out.size = wanted.size;
    return FuseAnswer::of(out);
}

/// Sends the file's dirty data to the server, where they are safe from a power cut of this host. As in the
/// kernel, data that can't be written are dropped, and the caller learns of it once.
int NfsClient::write_back(RemoteInode& inode) {
    if (inode.dirty.is_empty()) return 0;
    int const failed = lost_replies_.carry_out_idempotent([&] {
        for (auto const& [offset, text] : inode.dirty.extents()) {
            std::size_t written = 0;
            while (written < text.size()) {
                auto const count = ::pwrite(inode.data.get(), text.data() + written, text.size() - written,
                                            static_cast<off_t>(offset + written));
                if (count < 0) return errno;
                written += static_cast<std::size_t>(count);
            }
        }
        return 0;
    });
    inode.dirty.clear();
    int const stale = inode.refresh(valid_until());
    return failed != 0 ? failed : stale;
}

/// close(2) of a file that was open for writing.
FuseAnswer NfsClient::flush_file(FuseRequest const& request) {
    auto const found = open_files_.find(request.argument<fuse_flush_in>().fh);
    if (found == open_files_.end()) return FuseAnswer::failure(EBADF);
    if (!found->second->is_writable()) return {};
    return FuseAnswer::failure(write_back(*found->second->inode));
}

FuseAnswer NfsClient::sync_file(FuseRequest const& request) {
    return FuseAnswer::failure(write_back(*inodes_.find(request.header().nodeid)));
}

FuseAnswer NfsClient::release_file(FuseRequest const& request) {
    auto const handle = request.argument<fuse_release_in>().fh;
    auto const found = open_files_.find(handle);
    if (found == open_files_.end()) return FuseAnswer::failure(EBADF);
    auto const inode = found->second->inode;
    static_cast<void>(write_back(*inode));
    open_files_.erase(found);
    std::erase_if(waiting_locks_, [&](auto const& lock) { return lock.file == handle; });
    if (--inode->open_count > 0) return {};
    inode->data.reset();
    for (auto const& hidden : inode->hidden_names) ::unlinkat(hidden.directory.get(), hidden.name.c_str(), 0);
    inode->hidden_names.clear();
    return {};
}

/// flock(2). The server has the lock, so that it holds for all hosts.
FuseAnswer NfsClient::lock_file(FuseRequest const& request) {
    auto const wanted = request.argument<fuse_lk_in>();
    auto const found = open_files_.find(wanted.fh);
    if (found == open_files_.end() || (wanted.lk_flags & FUSE_LK_FLOCK) == 0)
        return FuseAnswer::failure(ENOLCK);
    WaitingLock lock{request.header().unique, wanted.fh,
                     wanted.lk.type == F_UNLCK   ? LOCK_UN
                     : wanted.lk.type == F_RDLCK ? LOCK_SH
                                                 : LOCK_EX};
    auto const& inode = *found->second->inode;
    if (!found->second->lock)
        found->second->lock = UniqueFd(::open(inode.proc_path().c_str(), O_RDWR | O_CLOEXEC));
    auto answer = try_lock(lock);
    if (answer.error != EWOULDBLOCK || request.header().opcode == FUSE_SETLK) return answer;
    waiting_locks_.push_back(lock);
    return FuseAnswer::none();
}

FuseAnswer NfsClient::try_lock(WaitingLock const& lock) {
    auto const found = open_files_.find(lock.file);
    if (found == open_files_.end()) return FuseAnswer::failure(EBADF);
    return FuseAnswer::failure(::flock(found->second->lock.get(), lock.operation | LOCK_NB) == 0 ? 0 : errno);
}

/// A process that waits for a lock has received a signal. Other operations do not wait.
FuseAnswer NfsClient::interrupt(FuseRequest const& request) {
    auto const interrupted = request.argument<fuse_interrupt_in>().unique;
    auto const lock = std::ranges::find(waiting_locks_, interrupted, &WaitingLock::request);
    if (lock != waiting_locks_.end()) lock->operation = 0;  // flock(2) fails, and tick() answers
    return FuseAnswer::none();
}

std::vector<std::pair<std::uint64_t, FuseAnswer>> NfsClient::tick() {
    auto const now = std::chrono::steady_clock::now();
    for (auto const& inode : inodes_.dirty_files())
        if (now - inode->dirty.since() >= options_.write_back) static_cast<void>(write_back(*inode));
    std::vector<std::pair<std::uint64_t, FuseAnswer>> answers;
    std::erase_if(waiting_locks_, [&](auto const& lock) {
        auto answer = lock.operation == 0 ? FuseAnswer::failure(EINTR) : try_lock(lock);
        if (answer.error == EWOULDBLOCK) return false;
        answers.emplace_back(lock.request, std::move(answer));
        return true;
    });
    return answers;
}

void NfsClient::write_all_back() {
    for (auto const& inode : inodes_.dirty_files()) static_cast<void>(write_back(*inode));
}

DroppedData NfsClient::drop_dirty_data() {
    DroppedData dropped;
    for (auto const& inode : inodes_.dirty_files()) {
        ++dropped.files;
        dropped.bytes += inode->dirty.size_bytes();
        inode->dirty.clear();
    }
    return dropped;
}

FuseAnswer NfsClient::describe_file_system(FuseRequest const&) {
    struct statvfs space {};
    if (::fstatvfs(inodes_.find(FUSE_ROOT_ID)->path.get(), &space) != 0) return FuseAnswer::failure(errno);
    fuse_statfs_out out{};
    out.st.blocks = space.f_blocks;
    out.st.bfree = space.f_bfree;
    out.st.bavail = space.f_bavail;
    out.st.files = space.f_files;
    out.st.ffree = space.f_ffree;
    out.st.bsize = static_cast<std::uint32_t>(space.f_bsize);
    out.st.frsize = static_cast<std::uint32_t>(space.f_frsize);
    out.st.namelen = static_cast<std::uint32_t>(space.f_namemax);
    return FuseAnswer::of(out);
}

}  // namespace det::faults
