#include "socket.hpp"

#include <det/foundation/polling.hpp>

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace det::transport {
namespace {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    sockaddr const* get() const { return reinterpret_cast<sockaddr const*>(&storage); }
};

/// Accepts numeric addresses only; callers resolve names.
Result<SocketAddress> socket_address(std::string const& address, std::uint16_t port) {
    SocketAddress result;
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
    if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        result.size = sizeof *v4;
    } else if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        result.size = sizeof *v6;
    } else {
        return Error{codes::bad_value, fmt::format("'{}' is not an IPv4 or IPv6 address", address)};
    }
    return result;
}

/// \return an empty descriptor, and errno, if there is none
UniqueFd open_socket(SocketAddress const& address) {
    return UniqueFd(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

void set_option(UniqueFd const& socket, int level, int option, int value) {
    // Failure is ignored, because the connection works without the option.
    (void)::setsockopt(socket.get(), level, option, &value, sizeof value);
}

Error closed_by_peer() { return Error{codes::transport, "the other side has closed the connection"}; }

Status wait_for(UniqueFd const& socket, short events, TimePoint deadline) {
    for (;;) {
        pollfd entry{socket.get(), events, 0};
        int const ready = ::poll(&entry, 1, poll_timeout_ms(deadline, std::chrono::steady_clock::now()));
        if (ready > 0) return Ok{};
        if (ready == 0) return Error{codes::timed_out, "the other side did not answer in time"};
        if (errno != EINTR) return os_error("wait for a socket", errno);
    }
}

}  // namespace

Result<UniqueFd> listen_at(std::string const& address) {
    DET_TRY_ASSIGN(auto const where, socket_address(address, 0));
    auto socket = open_socket(where);
    if (!socket) return os_error("open a socket", errno);
    int const off = 0;
    if (where.storage.ss_family == AF_INET6)
        (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    constexpr int backlog = 4096;  // all ranks connect at the same time; the system may lower the number
    if (::bind(socket.get(), where.get(), where.size) != 0 || ::listen(socket.get(), backlog) != 0) {
        return os_error(fmt::format("listen at {}", address), errno);
    }
    return socket;
}

Result<std::uint16_t> port_of(UniqueFd const& socket) {
    SocketAddress own;
    own.size = sizeof own.storage;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0) {
        return os_error("ask for the port of a socket", errno);
    }
    auto const port = own.storage.ss_family == AF_INET
                          ? reinterpret_cast<sockaddr_in const*>(&own.storage)->sin_port
                          : reinterpret_cast<sockaddr_in6 const*>(&own.storage)->sin6_port;
    return ntohs(port);
}

void set_options(UniqueFd const& connection) {
    set_option(connection, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(connection, SOL_SOCKET, SO_KEEPALIVE, 1);
}

void delay_acknowledgements(UniqueFd const& connection) {
    set_option(connection, IPPROTO_TCP, TCP_QUICKACK, 0);
}

std::string own_address_of(UniqueFd const& connection) {
    SocketAddress own;
    own.size = sizeof own.storage;
    char text[INET6_ADDRSTRLEN] = "";
    if (::getsockname(connection.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0) return "";
    void const* const address =
        own.storage.ss_family == AF_INET
            ? static_cast<void const*>(&reinterpret_cast<sockaddr_in const*>(&own.storage)->sin_addr)
            : &reinterpret_cast<sockaddr_in6 const*>(&own.storage)->sin6_addr;
    return ::inet_ntop(own.storage.ss_family, address, text, sizeof text) != nullptr ? text : "";
}

Result<StartedConnection> begin_connecting(Endpoint const& endpoint) {
    DET_TRY_ASSIGN(auto const where, socket_address(endpoint.address, endpoint.port));
    auto socket = open_socket(where);
    if (!socket) return StartedConnection{{}, errno};
    bool const has_failed = ::connect(socket.get(), where.get(), where.size) != 0 && errno != EINPROGRESS;
    int const problem = has_failed ? errno : 0;
    return StartedConnection{std::move(socket), problem};
}

Result<UniqueFd> start_connecting(Endpoint const& endpoint) {
    DET_TRY_ASSIGN(auto started, begin_connecting(endpoint));
    if (started.problem != 0)
        return os_error(fmt::format("connect to {} port {}", endpoint.address, endpoint.port),
                        started.problem);
    set_options(started.socket);
    return std::move(started.socket);
}

Result<UniqueFd> connect_to(Endpoint const& endpoint, TimePoint deadline) {
    DET_TRY_ASSIGN(auto socket, start_connecting(endpoint));
    DET_TRY(wait_for(socket, POLLOUT, deadline));
    int problem = 0;
    socklen_t size = sizeof problem;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem != 0)
        return os_error(fmt::format("connect to {} port {}", endpoint.address, endpoint.port), problem);
    return socket;
}

Status send_all(UniqueFd const& connection, std::string_view bytes, TimePoint deadline) {
    while (!bytes.empty()) {
        auto const sent = ::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN) {
            DET_TRY(wait_for(connection, POLLOUT, deadline));
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return closed_by_peer();
        } else if (errno != EINTR) {
            return os_error("send", errno);
        }
    }
    return Ok{};
}

Result<std::string> receive_exactly(UniqueFd const& connection, std::size_t size, TimePoint deadline) {
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < size) {
        auto const received = ::recv(connection.get(), bytes.data() + done, size - done, 0);
        if (received > 0) {
            done += static_cast<std::size_t>(received);
        } else if (received == 0 || errno == ECONNRESET) {
            return closed_by_peer();
        } else if (errno == EAGAIN) {
            DET_TRY(wait_for(connection, POLLIN, deadline));
        } else if (errno != EINTR) {
            return os_error("receive", errno);
        }
    }
    return bytes;
}

}  // namespace det::transport
