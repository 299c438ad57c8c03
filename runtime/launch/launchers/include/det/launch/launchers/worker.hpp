#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Messages from workers to det-launch's monitor on the same node, through a socket in DET_RUN_DIR; a packet
// is a message. A worker keeps its connection until it ends. If a connection ends without `exit`, the worker
// has failed. The monitor sends nothing: when it closes a connection, the worker kills its command.
namespace det::launch::launchers {

/// How a command ended.
struct WorkerEnd {
    int exit_code = 0;  // 128 + signal if a signal ended it
    int signal = 0;
};

/// Runs a rank's command in the process group that this process leads. The group is killed when the
/// launcher's monitor or the parent process has ended, and by the monitor when this process has ended without
/// sending the exit code. Sends the exit code to the monitor, if there is one.
Result<WorkerEnd> run_worker(std::vector<std::string> const& command, Environment const& environment);

/// The environment variable with the path of the socket; launchers' processes inherit it.
inline constexpr char socket_variable[] = "DET_WORKERS";

struct WorkerHello {
    enum class Kind {
        worker,  // a rank: its failure ends the launch
        remote,  // a command of det-rsh on another node: its failure may explain the launcher's
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
/// Returns nullopt if the text is not a message.
std::optional<Message> parse_message(std::string_view text);
inline constexpr std::size_t message_size_max = 256;

/// Creates a listening socket at a path of any length. Only processes of this user can connect, because
/// DET_RUN_DIR is private.
Result<UniqueFd> listen_at(std::filesystem::path const& path);
/// Connects to a socket. Returns nullopt if no process listens there, for example on a node without a
/// launcher.
std::optional<UniqueFd> connect_to(std::filesystem::path const& path);
void send_message(UniqueFd const& socket, Message const& message);

}  // namespace det::launch::launchers
