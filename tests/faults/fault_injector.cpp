// A library for LD_PRELOAD that makes one file operation fail. README.md describes it.
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

namespace {

template <class Function>
Function* real(char const* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string text_of(char const* name) {
    auto const* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool is_manifest(std::string const& path) { return path.ends_with("/manifest"); }
std::string parent_of(std::string const& path) { return path.substr(0, path.rfind('/')); }

/// Tracks which names and contents are not synced yet: a power failure would lose them.
class UnsyncedFiles {
public:
    void opened(int fd, std::string path, bool is_new) {
        if (is_new) names_.insert(path);
        paths_[fd] = std::move(path);
    }
    void closed(int fd) { paths_.erase(fd); }
    bool knows(int fd) const { return paths_.contains(fd); }
    void wrote(int fd) { contents_.insert(paths_[fd]); }
    void synced(int fd) {
        auto const& path = paths_[fd];
        contents_.erase(path);
        std::erase_if(names_, [&](auto const& name) { return parent_of(name) == path; });
    }
    void renamed(std::string const& from, std::string const& to) {
        if (is_manifest(to)) check_neighbours(from, parent_of(to));
        if (contents_.erase(from) != 0) contents_.insert(to);
        names_.erase(from);
        names_.insert(to);
    }
    void linked(std::string const& from, std::string const& to) {
        if (contents_.contains(from)) contents_.insert(to);
        names_.insert(to);
    }
    void removed(std::string const& path) {
        names_.erase(path);
        contents_.erase(path);
    }
    void check_at_end() const {
        for (auto const* lost : {&names_, &contents_}) {
            for (auto const& path : *lost) {
                if (is_manifest(path)) die(path);
            }
        }
    }

private:
    void check_neighbours(std::string const& manifest, std::string const& directory) const {
        if (contents_.contains(manifest)) die(manifest);
        for (auto const* lost : {&names_, &contents_}) {
            for (auto const& path : *lost) {
                if (parent_of(path) == directory && path != manifest) die(path);
            }
        }
    }
    [[noreturn]] static void die(std::string const& path) {
        std::fprintf(stderr, "a power failure would lose '%s'\n", path.c_str());
        std::abort();
    }

    std::map<int, std::string> paths_;
    std::set<std::string> names_, contents_;  // not synced yet
};

enum class Fault {
    none,
    error,        // the call fails and has no effect
    half,         // a write writes half
    error_after,  // the call fails although it has its effect
    twice,        // a call that changes a name is carried out twice; its result is that of the second time
};

class Injector {
public:
    bool touches(char const* path) const {
        return !below_.empty() && path != nullptr && std::string_view(path).starts_with(below_);
    }
    /// Counts a call and returns what has to happen to it.
    Fault next() {
        if (++count_ != at_) return Fault::none;
        if (fault_ == "kill") ::kill(::getpid(), SIGKILL);
        if (fault_ == "short") return Fault::half;
        if (fault_ == "late") return Fault::error_after;
        if (fault_ == "twice") return Fault::twice;
        if (error_of(fault_) == 0) {
            std::fprintf(stderr, "DET_FAULT has no fault '%s'\n", fault_.c_str());
            std::abort();
        }
        return Fault::error;
    }
    /// Called when the fault has been applied to a call that has had its effect.
    void applied() { was_applied_ = true; }
    bool gives_late_errors() const { return fault_ == "late"; }
    /// Sets errno. Returns -1.
    int fail() const {
        errno = gives_late_errors() ? EIO : error_of(fault_);
        return -1;
    }
    ~Injector() {
        unsynced.check_at_end();
        write_number(count_file_, count_);
        write_number(applied_file_, was_applied_ ? 1 : 0);
    }

    std::mutex mutex;
    UnsyncedFiles unsynced;

private:
    /// 0: the name is not that of an error.
    static int error_of(std::string_view name) {
        return name == "EIO" ? EIO : name == "ENOSPC" ? ENOSPC : name == "EDQUOT" ? EDQUOT : 0;
    }
    static void write_number(std::string const& path, long number) {
        auto* const file = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
        if (file == nullptr) return;
        std::fprintf(file, "%ld", number);
        std::fclose(file);
    }

    std::string const below_ = text_of("DET_FAULT_BELOW"), fault_ = text_of("DET_FAULT"),
                      count_file_ = text_of("DET_FAULT_COUNT"), applied_file_ = text_of("DET_FAULT_APPLIED");
    long const at_ = std::atol(text_of("DET_FAULT_AT").c_str());
    long count_ = 0;
    bool was_applied_ = false;
};

Injector& injector() {
    static Injector instance;
    return instance;
}

using Lock = std::lock_guard<std::mutex>;

/// Runs `call` on a file descriptor, or injects the fault. After a success `then` updates the unsynced files.
template <class Call, class Then>
auto on_file(int fd, Call call, Then then) -> decltype(call(false)) {
    auto& state = injector();
    auto fault = Fault::none;
    {
        Lock const lock(state.mutex);
        if (!state.unsynced.knows(fd)) return call(false);
        fault = state.next();
        if (fault == Fault::error) return state.fail();
    }
    auto const result = call(fault == Fault::half);
    Lock const lock(state.mutex);
    if (result >= 0) then(state.unsynced);
    if (fault == Fault::error_after) state.applied();
    if (fault == Fault::error_after) return state.fail();
    return result;
}

/// The same of a call with a path.
/// \param withdraw takes the result of a call that must seem to have failed, or that is to be repeated.
///        Returns whether the effect of the call stays, so that it can be repeated.
template <class Call, class Then, class Withdraw>
int on_path(char const* path, Call call, Then then, Withdraw withdraw) {
    auto& state = injector();
    if (!state.touches(path)) return call();
    auto fault = Fault::none;
    {
        Lock const lock(state.mutex);
        fault = state.next();
        if (fault == Fault::error) return state.fail();
    }
    int result = call();
    bool const has_effect = result >= 0;
    bool const is_repeated = fault == Fault::twice && withdraw(result);
    if (is_repeated) result = call();
    int const reason = errno;
    bool const is_withdrawn = fault == Fault::error_after && !withdraw(result);
    Lock const lock(state.mutex);
    if (has_effect && !is_withdrawn) then(state.unsynced, result);
    if (is_repeated || fault == Fault::error_after) state.applied();
    if (fault == Fault::error_after) return state.fail();
    errno = reason;
    return result;
}

/// A call that changes a name.
template <class Call, class Then>
int on_name(char const* path, Call call, Then then) {
    return on_path(path, call, then, [](int) { return true; });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int open(char const* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    auto const mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return on_path(
        path, [&] { return real<int(char const*, int, ...)>("open")(path, flags, mode); },
        [&](UnsyncedFiles& unsynced, int fd) { unsynced.opened(fd, path, (flags & O_CREAT) != 0); },
        // A repeated exclusive creation succeeds with NFS.
        [](int fd) {
            if (fd >= 0 && injector().gives_late_errors()) real<int(int)>("close")(fd);
            return false;
        });
}

int mkdir(char const* path, mode_t mode) {
    return on_name(
        path, [&] { return real<int(char const*, mode_t)>("mkdir")(path, mode); },
        [](UnsyncedFiles&, int) {});
}

int unlink(char const* path) {
    return on_name(
        path, [&] { return real<int(char const*)>("unlink")(path); },
        [&](UnsyncedFiles& unsynced, int) { unsynced.removed(path); });
}

int rename(char const* from, char const* to) {
    bool is_first = true;
    return on_name(
        to,
        [&] {
            if (std::exchange(is_first, false)) {
                Lock const lock(injector().mutex);
                injector().unsynced.renamed(from, to);
            }
            return real<int(char const*, char const*)>("rename")(from, to);
        },
        [](UnsyncedFiles&, int) {});
}

int link(char const* from, char const* to) {
    return on_name(
        to, [&] { return real<int(char const*, char const*)>("link")(from, to); },
        [&](UnsyncedFiles& unsynced, int) { unsynced.linked(from, to); });
}

int close(int fd) {
    {
        // Before the real close: another thread may get the same descriptor number right after it.
        Lock const lock(injector().mutex);
        if (injector().unsynced.knows(fd)) {
            auto const fault = injector().next();
            if (fault == Fault::error) return injector().fail();
            injector().unsynced.closed(fd);
            if (fault == Fault::error_after) {
                injector().applied();
                real<int(int)>("close")(fd);
                return injector().fail();
            }
        }
    }
    return real<int(int)>("close")(fd);
}

ssize_t write(int fd, void const* bytes, size_t size) {
    return on_file(
        fd,
        [&](bool is_short) {
            auto const part = is_short && size > 1 ? size / 2 : size;
            return real<ssize_t(int, void const*, size_t)>("write")(fd, bytes, part);
        },
        [&](UnsyncedFiles& unsynced) { unsynced.wrote(fd); });
}

ssize_t pwrite(int fd, void const* bytes, size_t size, off_t offset) {
    return on_file(
        fd,
        [&](bool is_short) {
            auto const part = is_short && size > 1 ? size / 2 : size;
            return real<ssize_t(int, void const*, size_t, off_t)>("pwrite")(fd, bytes, part, offset);
        },
        [&](UnsyncedFiles& unsynced) { unsynced.wrote(fd); });
}

int fsync(int fd) {
    return on_file(
        fd, [&](bool) { return real<int(int)>("fsync")(fd); },
        [&](UnsyncedFiles& unsynced) { unsynced.synced(fd); });
}

int ftruncate(int fd, off_t size) {
    return on_file(
        fd, [&](bool) { return real<int(int, off_t)>("ftruncate")(fd, size); },
        [&](UnsyncedFiles& unsynced) { unsynced.wrote(fd); });
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
    return on_file(
        fd, [&](bool) { return real<int(int, int, off_t, off_t)>("fallocate")(fd, mode, offset, size); },
        [&](UnsyncedFiles& unsynced) { unsynced.wrote(fd); });
}

}  // extern "C"
#pragma GCC visibility pop
