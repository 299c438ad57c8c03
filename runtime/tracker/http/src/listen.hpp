#pragma once
#include <det/foundation/files.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace det::tracker::http {

/// A socket file that is removed at the end.
class SocketFile {
public:
    explicit SocketFile(std::filesystem::path path) : path_(std::move(path)) {}
    SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    SocketFile& operator=(SocketFile&&) = delete;
    ~SocketFile();

private:
    std::filesystem::path path_;
};

struct UnixListener {
    UniqueFd socket;
    SocketFile file;
};

/// Listens at a path (mode 0600) in a directory that must be private; removes the socket that a killed
/// process has left. Errors as Server::start().
Result<UnixListener> listen_at_path(std::filesystem::path const& path);

struct LoopbackListeners {
    std::vector<UniqueFd> sockets;  // for 127.0.0.1, and for ::1 if this host has it
    std::uint16_t port = 0;
};

/// Listens at the same port of both loopback addresses: a name such as localhost can mean each of them.
/// \param port 0 for any free port
Result<LoopbackListeners> listen_at_loopback(std::uint16_t port);

/// The uid of the process at the other end of a unix socket.
std::optional<uid_t> peer_uid_of(int socket);

}  // namespace det::tracker::http
