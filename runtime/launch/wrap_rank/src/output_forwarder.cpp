#include "output_forwarder.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
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

constexpr std::size_t read_size_bytes = std::size_t{64} << 10;  // the default capacity of a pipe
constexpr int wide_pipe_size_bytes = 2 * read_size_bytes;

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
    // F_GETPIPE_SZ fails for anything but a pipe. If the kernel refuses the new size, the pipe keeps its
    // size.
    auto const size_now_bytes = ::fcntl(fd_, F_GETPIPE_SZ);
    if (size_now_bytes >= 0 && size_now_bytes < size_bytes) ::fcntl(fd_, F_SETPIPE_SZ, size_bytes);
}

void SharedOutput::write(std::string_view lines) const {
    if (lock_) ::flock(lock_.get(), LOCK_EX);
    write_all_bytes(fd_, lines);
    if (lock_) ::flock(lock_.get(), LOCK_UN);
}

OutputForwarder::OutputForwarder(UniqueFd from, int to, OutputSettings const& labels, LineQueue* log,
                                 Clock const& clock)
    : from_(std::move(from)),
      to_(to),
      labels_(labels),
      may_have_labels_(to == STDOUT_FILENO ? labels.labelled.out : labels.labelled.err),
      adds_labels_(may_have_labels_ && !labels.prefix.empty()),
      log_(log),
      clock_(clock),
      buffer_(std::make_unique_for_overwrite<char[]>(read_size_bytes)) {
    ::fcntl(from_.get(), F_SETFL, O_NONBLOCK);
}

void OutputForwarder::forward() { forward(read_size_bytes); }

void OutputForwarder::forward(std::size_t size_max) {
    auto const count = ::read(from_.get(), buffer_.get(), size_max);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
        from_.reset();
        return;
    }
    std::string_view const bytes(buffer_.get(), static_cast<std::size_t>(count));
    if (bytes.size() == read_size_bytes) to_.enlarge_pipe(wide_pipe_size_bytes);
    begin();
    if (adds_labels_ && bytes.find('\0') != std::string_view::npos) {
        stop_labelling(bytes);
        return;
    }
    feed(bytes);
    flush(adds_labels_ ? std::string_view(labelled_) : bytes);
}

void OutputForwarder::feed(std::string_view bytes) {
    splitter_.feed(bytes, [this](std::string_view line, LineEnd end) { take(line, end); });
}

/// Passes on the beginning of the line that the splitter holds, which has no label yet, and the bytes.
void OutputForwarder::stop_labelling(std::string_view bytes) {
    adds_labels_ = false;
    auto const unchanged = std::string(splitter_.pending()).append(bytes);
    feed(bytes);
    flush(unchanged);
}

void OutputForwarder::take(std::string_view line, LineEnd end) {
    if (adds_labels_) labelled_.append(labels_.prefix).append(line).push_back('\n');
    if (log_ != nullptr) bar_.take(line, end, now_, [this](std::string_view state) { log(state); });
}

void OutputForwarder::log(std::string_view line) {
    // At the node level, skip lines of ranks that the ranks' own wrappers have already logged.
    bool const may_be_logged = labels_.prefix.empty() && (!may_have_labels_ || line.starts_with("[rank="));
    if (may_be_logged && labels_.ranks_write_log && labels_.ranks_write_log()) return;
    logged_.append(time_).append(labels_.prefix).append(line).push_back('\n');
}

void OutputForwarder::begin() {
    labelled_.clear();
    logged_.clear();
    if (log_ == nullptr) return;
    now_ = clock_.now();
    time_ = format_utc(now_) + " ";
}

void OutputForwarder::flush(std::string_view bytes) {
    if (!logged_.empty()) log_->append(logged_);
    if (!bytes.empty()) to_.write(bytes);
}

void OutputForwarder::finish() {
    // Reads no more than the pipe holds now, because other writers may never stop.
    int left = 0;
    if (from_) ::ioctl(from_.get(), FIONREAD, &left);
    for (auto rest = static_cast<std::size_t>(left); rest > 0;) {
        auto const size = std::min(read_size_bytes, rest);
        forward(size);
        rest -= size;
    }
    begin();
    splitter_.finish([this](std::string_view line, LineEnd end) { take(line, end); });
    if (log_ != nullptr) bar_.finish([this](std::string_view state) { log(state); });
    flush(labelled_);
}

}  // namespace det::launch::wrap_rank
