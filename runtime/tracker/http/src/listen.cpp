#include "listen.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace det::tracker::http {
namespace {

constexpr int backlog = 1024;
constexpr int socket_flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Status check_private(std::filesystem::path const& directory) {
    struct stat found {};
    if (::lstat(directory.c_str(), &found) != 0)
        return os_error(fmt::format("read '{}'", directory.string()), errno);
    if (S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() && (found.st_mode & 0777) == 0700) return Ok{};
    return Error{codes::unsafe_owner,
                 fmt::format("'{}' is not a directory of yours with mode 0700", directory.string()),
                 "other users could replace the socket in it: remove it, or correct its owner and mode"};
}

Result<sockaddr_un> unix_address(std::filesystem::path const& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    auto const& text = path.native();
    if (text.size() >= sizeof address.sun_path) {
        return Error{codes::bad_value,
                     fmt::format("the path of the socket '{}' has {} bytes; the system allows {}", text,
                                 text.size(), sizeof address.sun_path - 1),
                     "choose a shorter directory"};
    }
    std::ranges::copy(text, address.sun_path);
    return address;
}

template <class Address>
sockaddr const* generic(Address const& address) {
    return reinterpret_cast<sockaddr const*>(&address);
}

bool is_listened_at(sockaddr_un const& address) {
    UniqueFd const probe(::socket(AF_UNIX, socket_flags, 0));
    return probe && ::connect(probe.get(), generic(address), sizeof address) == 0;
}

Error in_use(std::string const& what) {
    return Error{codes::name_taken, fmt::format("another process listens at {}", what),
                 "stop it, or choose another one"};
}

template <class Address>
Result<UniqueFd> listen_at_address(int family, Address const& address, std::uint16_t port) {
    UniqueFd fd(::socket(family, socket_flags, 0));
    if (!fd) return os_error("make a socket", errno);
    int const on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (::bind(fd.get(), generic(address), sizeof address) == 0 && ::listen(fd.get(), backlog) == 0)
        return Result<UniqueFd>(std::move(fd));
    if (errno == EADDRINUSE) return in_use(fmt::format("port {}", port));
    return os_error(fmt::format("listen at port {}", port), errno);
}

std::uint16_t port_of(UniqueFd const& socket) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

bool has_ipv6_loopback() {
    UniqueFd const fd(::socket(AF_INET6, socket_flags, 0));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    return fd && ::bind(fd.get(), generic(address), sizeof address) == 0;
}

}  // namespace

SocketFile::~SocketFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

Result<UnixListener> listen_at_path(std::filesystem::path const& path) {
    DET_TRY_ASSIGN(auto const address, unix_address(path));
    DET_TRY(check_private(path.parent_path()));
    if (is_listened_at(address)) return in_use(fmt::format("'{}'", path.string()));
    ::unlink(path.c_str());
    UniqueFd fd(::socket(AF_UNIX, socket_flags, 0));
    if (!fd) return os_error("make a socket", errno);
    // No other user can enter the directory, so the mode may be set after bind(2).
    if (::bind(fd.get(), generic(address), sizeof address) != 0 || ::chmod(path.c_str(), 0600) != 0 ||
        ::listen(fd.get(), backlog) != 0)
        return os_error(fmt::format("listen at '{}'", path.string()), errno);
    return UnixListener{std::move(fd), SocketFile(path)};
}

Result<LoopbackListeners> listen_at_loopback(std::uint16_t port) {
    constexpr int attempts = 20;  // a free port of one address may be in use at the other one
    for (int attempt = 1;; ++attempt) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        v4.sin_port = htons(port);
        LoopbackListeners listeners;
        DET_TRY_ASSIGN(auto first, listen_at_address(AF_INET, v4, port));
        listeners.port = port_of(first);
        listeners.sockets.push_back(std::move(first));
        if (!has_ipv6_loopback()) return Result<LoopbackListeners>(std::move(listeners));
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_addr = in6addr_loopback;
        v6.sin6_port = htons(listeners.port);
        auto second = listen_at_address(AF_INET6, v6, listeners.port);
        if (second) {
            listeners.sockets.push_back(*std::move(second));
            return Result<LoopbackListeners>(std::move(listeners));
        }
        if (port != 0 || attempt == attempts) return std::move(second).error();
    }
}

std::optional<uid_t> peer_uid_of(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
    return peer.uid;
}

}  // namespace det::tracker::http
