#pragma once
#include <det/foundation/files.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

// Messages from workers to det-launch's monitor on one node, through a socket in DET_RUN_DIR; a packet is a
// message. A worker keeps its connection until it ends; a connection that ends without `exit` is a failed
// worker. The monitor sends nothing: when it closes a connection, the worker kills what it started.
namespace det::launch::launchers {

/// The variable with the path of the socket, set for everything that a launcher starts.
inline constexpr char socket_variable[] = "DET_WORKERS";

struct WorkerHello {
    enum class Kind {
        worker,  // a rank: its failure ends the launch
        remote,  // a command of det-rsh on another node: its exit code explains the launcher's
    } kind = Kind::worker;
    std::string name;  // "rank 3", "n1"
    friend bool operator==(WorkerHello const&, WorkerHello const&) = default;
};
struct WorkerExit {
    int exit_code = 0;
    friend bool operator==(WorkerExit const&, WorkerExit const&) = default;
};
using Message = std::variant<WorkerHello, WorkerExit>;

std::string render_message(Message const& message);
/// Empty for anything else.
std::optional<Message> parse_message(std::string_view text);
inline constexpr std::size_t message_size_max = 256;

/// A listening socket at a path of any length. Only processes of this user can connect, because the directory
/// is private.
Result<UniqueFd> listen_at(std::filesystem::path const& path);
/// Connects to a socket. Empty if no process listens there, as for a worker on a node without its launcher.
std::optional<UniqueFd> connect_to(std::filesystem::path const& path);
void send_message(UniqueFd const& socket, Message const& message);

}  // namespace det::launch::launchers
