#pragma once
#include <det/foundation/files.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <sys/socket.h>
#include <sys/un.h>
#include <vector>

namespace det::unix_socket {

// Local sockets with message boundaries (SOCK_SEQPACKET), each a file in a directory. The functions with a
// deadline return at the deadline (connect_to() up to 10 ms later), except that connect_to() blocks while the
// listener's backlog is full.

using Deadline = std::chrono::steady_clock::time_point;

/// The address of a socket. It names the directory by a file descriptor, because a socket address has at most
/// 107 characters and the path of the directory may be longer. Valid as long as the object lives.
class Address {
public:
    /// codes::misuse if `name` is too long; codes::no_such_file, codes::permission or codes::file_system if
    /// the directory can't be opened.
    static Result<Address> make(std::filesystem::path const& directory, std::string const& name);

    sockaddr const* get() const { return reinterpret_cast<sockaddr const*>(&address_); }
    socklen_t size() const { return sizeof address_; }
    char const* path() const { return address_.sun_path; }

private:
    explicit Address(UniqueFd directory) : directory_(std::move(directory)) {}
    UniqueFd directory_;
    sockaddr_un address_{};
};

/// A socket that is neither bound nor connected.
Result<UniqueFd> open_socket();

/// Listens at `name` in `directory`. Replaces a file of this name, because a killed process leaves its
/// socket; the caller makes sure that no living process listens there.
Result<UniqueFd> listen_at(std::filesystem::path const& directory, std::string const& name);
/// Accepts the next connection of a process of this user; closes connections of other users. nullopt at the
/// deadline.
Result<std::optional<UniqueFd>> accept_one(int listener, Deadline deadline);
/// Connects, and retries until a process listens there. nullopt at the deadline.
Result<std::optional<UniqueFd>> connect_to(std::filesystem::path const& directory, std::string const& name,
                                           Deadline deadline);

/// Sends one message with at most 4 file descriptors. Blocks while the receiver's queue is full.
Status send_message(int socket, std::span<std::byte const> bytes, std::span<int const> files);
/// Receives one message of exactly bytes.size() bytes and at most `files_limit` file descriptors, which the
/// caller then owns. codes::timed_out at the deadline; codes::transport for a message of another size or with
/// more descriptors, and if the peer has closed the connection. `files_limit` is at most 4.
Result<std::vector<UniqueFd>> receive_message(int socket, std::span<std::byte> bytes, std::size_t files_limit,
                                              Deadline deadline);

}  // namespace det::unix_socket
