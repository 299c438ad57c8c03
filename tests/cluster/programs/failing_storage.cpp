// A library for LD_PRELOAD: while the file DET_FAILING_CONTROL contains EIO or EDQUOT, calls that change a
// file below DET_FAILING_BELOW fail with this error.
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

template <class Function>
Function* real(char const* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// The error that calls have to fail with; 0: none.
int failure() {
    auto const* control = std::getenv("DET_FAILING_CONTROL");
    if (control == nullptr) return 0;
    int const fd = real<int(char const*, int, ...)>("open")(control, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char text[16] = {};
    auto const count = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    std::string_view const what(text, count > 0 ? static_cast<std::size_t>(count) : 0);
    return what == "EIO" ? EIO : what == "EDQUOT" ? EDQUOT : 0;
}

bool is_below(char const* path) {
    auto const* below = std::getenv("DET_FAILING_BELOW");
    return below != nullptr && path != nullptr && std::strncmp(path, below, std::strlen(below)) == 0;
}

bool is_below(int fd) {
    char name[32], path[PATH_MAX];
    std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    auto const size = ::readlink(name, path, sizeof path - 1);
    if (size < 0) return false;
    path[size] = '\0';
    return is_below(path);
}

/// Whether the call has to fail; sets errno then.
template <class File>
bool fails(File file) {
    int const before = errno;
    int const error = is_below(file) ? failure() : 0;
    errno = error != 0 ? error : before;
    return error != 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int open(char const* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    auto const mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if ((flags & O_CREAT) != 0 && fails(path)) return -1;
    return real<int(char const*, int, ...)>("open")(path, flags, mode);
}
int mkdir(char const* path, mode_t mode) {
    return fails(path) ? -1 : real<int(char const*, mode_t)>("mkdir")(path, mode);
}
int rename(char const* from, char const* to) {
    return fails(to) ? -1 : real<int(char const*, char const*)>("rename")(from, to);
}
int link(char const* from, char const* to) {
    return fails(to) ? -1 : real<int(char const*, char const*)>("link")(from, to);
}
ssize_t write(int fd, void const* bytes, size_t size) {
    return fails(fd) ? -1 : real<ssize_t(int, void const*, size_t)>("write")(fd, bytes, size);
}
ssize_t pwrite(int fd, void const* bytes, size_t size, off_t offset) {
    return fails(fd) ? -1 : real<ssize_t(int, void const*, size_t, off_t)>("pwrite")(fd, bytes, size, offset);
}
int fsync(int fd) { return fails(fd) ? -1 : real<int(int)>("fsync")(fd); }
int fdatasync(int fd) { return fails(fd) ? -1 : real<int(int)>("fdatasync")(fd); }
int ftruncate(int fd, off_t size) { return fails(fd) ? -1 : real<int(int, off_t)>("ftruncate")(fd, size); }
int fallocate(int fd, int mode, off_t offset, off_t size) {
    return fails(fd) ? -1 : real<int(int, int, off_t, off_t)>("fallocate")(fd, mode, offset, size);
}

}  // extern "C"
#pragma GCC visibility pop
