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

void write_what_goes(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        auto const count = ::write(fd, bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {  // whoever shares it with us has made it so
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
    // O_NONBLOCK: a named pipe whose reader has gone must not hold us up here.
    gate_ = UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

void SharedOutput::widen(int size_bytes) {
    if (is_widened_) return;
    is_widened_ = true;
    // What is no pipe has no such size; where the kernel refuses, the pipe stays as it is.
    auto const size_now_bytes = ::fcntl(fd_, F_GETPIPE_SZ);
    if (size_now_bytes >= 0 && size_now_bytes < size_bytes) ::fcntl(fd_, F_SETPIPE_SZ, size_bytes);
}

void SharedOutput::write(std::string_view lines) const {
    if (gate_) ::flock(gate_.get(), LOCK_EX);
    write_what_goes(fd_, lines);
    if (gate_) ::flock(gate_.get(), LOCK_UN);
}

}  // namespace det::launch::wrap_rank
