#include "shared_output.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::launch::wrap_rank {
namespace {

void write_all_bytes(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        auto const count = ::write(fd, bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {  // another process that shares the pipe has set O_NONBLOCK
            pollfd polled{fd, POLLOUT, 0};
            ::poll(&polled, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

}  // namespace

SharedOutput::SharedOutput(int fd) : fd_(fd) {
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return;
    // O_NONBLOCK: opening a named pipe whose reader has closed it must not block.
    lock_ = UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

void SharedOutput::enlarge_pipe(int size_bytes) {
    if (is_enlarged_) return;
    is_enlarged_ = true;
    // Fails for anything but a pipe; if the kernel refuses, the pipe keeps its size.
    auto const size_now_bytes = ::fcntl(fd_, F_GETPIPE_SZ);
    if (size_now_bytes >= 0 && size_now_bytes < size_bytes) ::fcntl(fd_, F_SETPIPE_SZ, size_bytes);
}

void SharedOutput::write(std::string_view lines) const {
    if (lock_) ::flock(lock_.get(), LOCK_EX);
    write_all_bytes(fd_, lines);
    if (lock_) ::flock(lock_.get(), LOCK_UN);
}

}  // namespace det::launch::wrap_rank
