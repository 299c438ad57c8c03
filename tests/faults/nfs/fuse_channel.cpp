#include "fuse_channel.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace det::faults {

std::vector<std::string> FuseRequest::names(std::size_t size_bytes) const {
    std::vector<std::string> names;
    for (auto text = rest(size_bytes); !text.empty();) {
        auto const end = std::min(text.find('\0'), text.size());
        names.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(text.size(), end + 1));
    }
    names.resize(std::max<std::size_t>(names.size(), 2));  // a malformed request has empty names
    return names;
}

FuseChannel::FuseChannel(UniqueFd device, std::filesystem::path directory)
    : device_(std::move(device)), directory_(std::move(directory)) {
    constexpr std::size_t headers_bytes = 4096;
    buffer_.resize(write_max_bytes + headers_bytes);
}

Result<FuseChannel> FuseChannel::mount(std::filesystem::path const& directory) {
    UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!device) return os_error("open /dev/fuse", errno);
    auto const options = fmt::format(
        "fd={},rootmode={:o},user_id=0,group_id=0,allow_other,default_permissions", device.get(), S_IFDIR);
    if (::mount("det-nfs", directory.c_str(), "fuse.det-nfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
        return os_error(fmt::format("mount at '{}'", directory.string()), errno);
    return FuseChannel(std::move(device), directory);
}

FuseChannel::~FuseChannel() {
    if (device_) ::umount2(directory_.c_str(), MNT_DETACH);
}

Result<std::optional<FuseRequest>> FuseChannel::receive() {
    auto const size = ::read(device_.get(), buffer_.data(), buffer_.size());
    if (size >= static_cast<ssize_t>(sizeof(fuse_in_header)))
        return std::optional(FuseRequest(buffer_.substr(0, static_cast<std::size_t>(size))));
    // ENOENT: the request was interrupted before it was read.
    if (size < 0 && errno != EAGAIN && errno != EINTR && errno != ENOENT)
        return os_error("read a request of the kernel", errno);
    return std::optional<FuseRequest>();
}

void FuseChannel::answer(std::uint64_t request, FuseAnswer const& answer) const {
    auto const size = answer.error == 0 ? answer.bytes.size() : 0;
    fuse_out_header header{static_cast<std::uint32_t>(sizeof header + size), -answer.error, request};
    iovec const parts[] = {{&header, sizeof header}, {const_cast<char*>(answer.bytes.data()), size}};
    // ENOENT: the process that waited was killed.
    static_cast<void>(::writev(device_.get(), parts, size == 0 ? 1 : 2));
}

void unmount_dead(std::filesystem::path const& directory) {
    struct stat info {};
    while (::stat(directory.c_str(), &info) != 0 && errno == ENOTCONN &&
           ::umount2(directory.c_str(), MNT_DETACH) == 0) {
    }
}

}  // namespace det::faults
