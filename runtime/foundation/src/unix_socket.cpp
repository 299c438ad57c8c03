#include <det/foundation/unix_socket.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace det::unix_socket {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t files_max = 4;

/// Waits until the descriptor is readable. Returns false at the deadline.
bool wait_for_input(int fd, Deadline deadline) {
    for (;;) {
        auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        pollfd query{fd, POLLIN, 0};
        auto const ready =
            ::poll(&query, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000)));
        if (ready > 0) return true;
        if (left.count() <= 0) return false;
    }
}

bool is_of_this_user(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace

Result<Address> Address::make(std::filesystem::path const& directory, std::string const& name) {
    UniqueFd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return os_error(fmt::format("open '{}'", directory.string()), errno);
    auto const path = fmt::format("/proc/self/fd/{}/{}", fd.get(), name);
    Address made(std::move(fd));
    made.address_.sun_family = AF_UNIX;
    if (path.size() >= sizeof made.address_.sun_path)
        return Error{codes::misuse, fmt::format("'{}' is too long for the name of a socket", name)};
    std::ranges::copy(path, made.address_.sun_path);
    return Result<Address>(std::move(made));
}

Result<UniqueFd> open_socket() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!fd) return os_error("make a socket", errno);
    return Result<UniqueFd>(std::move(fd));
}

Result<UniqueFd> listen_at(std::filesystem::path const& directory, std::string const& name) {
    DET_TRY_ASSIGN(auto const address, Address::make(directory, name));
    DET_TRY_ASSIGN(auto fd, open_socket());
    ::unlink(address.path());  // the file of a killed process
    constexpr int backlog = 1024;
    if (::bind(fd.get(), address.get(), address.size()) != 0 || ::listen(fd.get(), backlog) != 0) {
        return os_error(fmt::format("listen at '{}'", (directory / name).string()), errno);
    }
    return Result<UniqueFd>(std::move(fd));
}

Result<std::optional<UniqueFd>> accept_one(int listener, Deadline deadline) {
    while (wait_for_input(listener, deadline)) {
        UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        if (fd && is_of_this_user(fd.get())) return std::optional(std::move(fd));
        if (!fd && errno != EINTR && errno != ECONNABORTED) return os_error("accept a connection", errno);
    }
    return std::optional<UniqueFd>();
}

Result<std::optional<UniqueFd>> connect_to(std::filesystem::path const& directory, std::string const& name,
                                           Deadline deadline) {
    DET_TRY_ASSIGN(auto fd, open_socket());
    for (auto nap = 100us;;) {
        // Opened again at every attempt: the server may remove the directory and make a new one.
        auto const address = Address::make(directory, name);
        if (address && ::connect(fd.get(), address->get(), address->size()) == 0) break;
        bool const is_not_listening_yet =
            address ? errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR
                    : address.error().code == codes::no_such_file;
        if (!address && !is_not_listening_yet) return address.error();
        if (!is_not_listening_yet)
            return os_error(fmt::format("connect to '{}'", (directory / name).string()), errno);
        if (Clock::now() > deadline) return std::optional<UniqueFd>();
        std::this_thread::sleep_for(nap);
        nap = std::min<std::chrono::microseconds>(2 * nap, 10ms);
    }
    return std::optional(std::move(fd));
}

Status send_message(int socket, std::span<std::byte const> bytes, std::span<int const> files) {
    iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * files_max)> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!files.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(files.size_bytes());
        auto* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(files.size_bytes());
        std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
    }
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return os_error("send a message", errno);
    return Ok{};
}

Result<std::vector<UniqueFd>> receive_message(int socket, std::span<std::byte> bytes, std::size_t files_limit,
                                              Deadline deadline) {
    if (!wait_for_input(socket, deadline)) return Error{codes::timed_out, "no message came in time"};
    iovec data{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * files_max)> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    auto const size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    bool const is_closed = size == 0 || (size < 0 && errno == ECONNRESET);
    if (is_closed) return Error{codes::transport, "the peer has closed the connection"};
    if (size < 0) return os_error("receive a message", errno);
    std::vector<UniqueFd> files;
    for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        for (std::size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
            files.emplace_back(fd);
        }
    }
    bool const is_complete =
        static_cast<std::size_t>(size) == bytes.size() && (message.msg_flags & MSG_TRUNC) == 0;
    if (is_complete && files.size() <= files_limit) return Result<std::vector<UniqueFd>>(std::move(files));
    return Error{codes::transport,
                 fmt::format("a message of {} bytes came where one of {} is due", size, bytes.size()),
                 "start all processes from the same version of the program"};
}

}  // namespace det::unix_socket
