#include "control_socket.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "error_codes.hpp"

namespace det::loopback {
namespace {

constexpr std::string_view ok_prefix = "ok\n", error_prefix = "error ";
constexpr timeval server_timeout{1, 0}, client_timeout{20, 0};

sockaddr_un address_of(ClusterPaths const& paths) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    auto const path = paths.control().string();  // ClusterPaths::make has checked its length
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

// SEQPACKET keeps the boundaries of messages.
UniqueFd make_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

void set_timeouts(int fd, timeval limit) {
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool send_message(int fd, std::string_view text) {
    return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

Result<std::string> receive_message(int fd) {
    std::array<char, 16384> buffer;
    auto const count = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (count < 0) return os_error("receive from the control socket", errno);
    return std::string(buffer.data(), static_cast<std::size_t>(count));
}

}  // namespace

Result<ControlServer> ControlServer::listen(ClusterPaths const& paths) {
    auto fd = make_socket();
    auto const address = address_of(paths);
    auto const* generic = reinterpret_cast<sockaddr const*>(&address);
    if (::bind(fd.get(), generic, sizeof address) != 0 || ::chmod(address.sun_path, 0600) != 0 ||
        ::listen(fd.get(), 8) != 0) {
        return os_error(fmt::format("listen at '{}'", address.sun_path), errno);
    }
    return ControlServer(std::move(fd));
}

void ControlServer::serve(std::function<Result<std::string>(std::string_view)> const& handle) const {
    UniqueFd const client(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) return;
    set_timeouts(client.get(), server_timeout);
    auto const request = receive_message(client.get());
    if (!request) return;
    auto const reply = handle(*request);
    send_message(client.get(), reply ? fmt::format("{}{}", ok_prefix, *reply)
                                     : fmt::format("{}{}", error_prefix, reply.error().message));
}

Result<std::string> send_request(ClusterPaths const& paths, std::string_view request) {
    auto const fd = make_socket();
    set_timeouts(fd.get(), client_timeout);
    auto const address = address_of(paths);
    if (::connect(fd.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 ||
        !send_message(fd.get(), request)) {
        return os_error(fmt::format("connect to the init process of '{}'", paths.name()), errno);
    }
    DET_TRY_ASSIGN(auto const reply, receive_message(fd.get()));
    if (reply.starts_with(ok_prefix)) return reply.substr(ok_prefix.size());
    if (reply.starts_with(error_prefix)) return Error{codes::misuse, reply.substr(error_prefix.size())};
    return Error{codes::process, fmt::format("the init process of '{}' closed the connection", paths.name())};
}

}  // namespace det::loopback
