#include "local_socket.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace det::launch::launchers {
namespace {

struct AbstractAddress {
    sockaddr_un address{};
    socklen_t size = 0;
};

/// local_socket_name() fits.
AbstractAddress address_of(std::string const& name) {
    AbstractAddress made;
    made.address.sun_family = AF_UNIX;
    auto const count = std::min(name.size(), sizeof made.address.sun_path - 1);
    std::memcpy(made.address.sun_path + 1, name.data(), count);
    made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + count);
    return made;
}

UniqueFd open_stream(int flags) { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)); }

}  // namespace

std::string local_socket_name(std::string_view name, std::string_view node, std::string_view what) {
    // A long node name counts by its end, where the names of nodes differ.
    constexpr std::size_t node_max = 32;
    if (node.size() > node_max) node.remove_prefix(node.size() - node_max);
    return fmt::format("{}-{}-{}-{}", name, ::geteuid(), node, what);
}

Result<std::optional<UniqueFd>> listen_locally(std::string const& name) {
    auto socket = open_stream(SOCK_NONBLOCK);
    auto const at = address_of(name);
    if (!socket) return os_error("open a socket", errno);
    if (::bind(socket.get(), reinterpret_cast<sockaddr const*>(&at.address), at.size) != 0) {
        if (errno == EADDRINUSE) return std::optional<UniqueFd>();
        return os_error("bind a socket", errno);
    }
    if (::listen(socket.get(), SOMAXCONN) != 0) return os_error("listen at a socket", errno);
    return std::optional(std::move(socket));
}

std::optional<UniqueFd> connect_locally(std::string const& name) {
    auto socket = open_stream(0);
    auto const at = address_of(name);
    // connect(2) waits while the queue of the listener is full, which another user can arrange for.
    timeval const limit{1, 0};
    if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
        ::connect(socket.get(), reinterpret_cast<sockaddr const*>(&at.address), at.size) != 0 ||
        !is_peer_of_this_user(socket.get()))
        return std::nullopt;
    return socket;
}

bool is_peer_of_this_user(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace det::launch::launchers
