#pragma once
#include <det/foundation/files.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

// What workers and their launcher's watch say to each other on one node: a socket in DET_RUN_DIR, a packet a
// message. A connection is held for as long as the worker lives; its end without `exit` is a worker that
// vanished. The watch says nothing: when it closes a connection, the worker is to end what it started.
namespace det::launch::launchers {

/// Path of the socket, in the environment of everything that a launcher starts.
inline constexpr char socket_variable[] = "DET_WORKERS";

struct Hello {
    enum class Kind {
        worker,  // a rank: its failure ends the launch
        remote,  // a command that det-rsh runs on another node: its exit code explains a launcher's
    } kind = Kind::worker;
    std::string name;  // "rank 3", "n1"
    friend bool operator==(Hello const&, Hello const&) = default;
};
struct Goodbye {
    int exit_code = 0;
    friend bool operator==(Goodbye const&, Goodbye const&) = default;
};
using Message = std::variant<Hello, Goodbye>;

std::string render_message(Message const& message);
/// Nothing where it is none of ours.
std::optional<Message> parse_message(std::string_view text);
inline constexpr std::size_t message_size_max = 256;

/// A socket that listens at a path, however long that is; who connects is of this user, for nobody else may
/// enter the folder.
Result<UniqueFd> listen_at(std::filesystem::path const& path);
/// Nothing where nobody listens there: a worker on a node that its launcher does not run on.
std::optional<UniqueFd> connect_to(std::filesystem::path const& path);
void send_message(UniqueFd const& socket, Message const& message);

}  // namespace det::launch::launchers
