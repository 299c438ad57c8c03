// Keeps the interpreters of slurm.warm_start on a node. One interpreter for each key (warm_key): that of the
// ranks, and that of torchrun, which starts them. An interpreter that is killed is started again a few times.
// All of them, and the ranks that they have forked, are in the step of this process: Slurm ends what is left
// when this process has ended.
#include <det/foundation/polling.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/launch/launchers/warm_start.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "local_socket.hpp"

namespace det::launch::launchers {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t interpreters_max = 3;
constexpr int starts_max = 4;  // of an interpreter
constexpr std::size_t message_max_bytes = std::size_t{4} << 20;
// For files, while no rank has asked on this node. The intervals double: with entrypoints that never ask, all
// nodes of a job would otherwise burden the shared file system for as long as it runs.
constexpr std::chrono::seconds between_looks_min = 2s, between_looks_max = 60s;
// A keeper that replaces a killed one finds files. The ranks of the run that begins have the processors
// first.
constexpr auto first_look_after = 1s;
constexpr auto more_files_within = 30s;
// The name of the script and the variables of a run are written there (warm_interpreter.py).
constexpr std::size_t argument_room_bytes = 4096, variable_room_bytes = std::size_t{64} << 10;

/// When an interpreter listens: at once, so that a rank waits for the rest of the import, or after the
/// import. The first rank of a node asks while others start, which would then wait instead of importing torch
/// at the same time.
enum class Listens { at_once, afterwards };

struct Interpreter {
    WarmProgram program;
    pid_t pid = 0;  // 0: it has ended
    int starts = 0;
};

/// Receives the size and the fields of a message. nullopt if they are not whole after a second.
std::optional<std::string> receive_message(int socket) {
    timeval const limit{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    auto const receive = [&](char* into, std::size_t size) {
        return ::recv(socket, into, size, MSG_WAITALL) == static_cast<ssize_t>(size);
    };
    std::array<unsigned char, 4> head{};
    if (!receive(reinterpret_cast<char*>(head.data()), head.size())) return std::nullopt;
    std::size_t size = 0;
    for (auto i = head.size(); i-- > 0;) size = size << 8 | head[i];
    if (size > message_max_bytes) return std::nullopt;
    std::string message(size, '\0');
    if (!receive(message.data(), size)) return std::nullopt;
    return message;
}

class InterpreterKeeper {
public:
    InterpreterKeeper(WarmStartPlace const& place, std::string node, std::filesystem::path const& script,
                      std::function<void(bool)> const& show)
        : place_(place), node_(std::move(node)), script_(script), show_(show) {}

    /// \param children reads SIGCHLD
    Status run(UniqueFd const& listener, SignalReader const& children, int input) {
        show_(false);
        for (;;) {
            pollfd polled[] = {{input, POLLIN, 0}, {listener.get(), POLLIN, 0}, {children.fd(), POLLIN, 0}};
            auto const wake = looks_for_files() ? std::optional(next_look_) : std::nullopt;
            ::poll(polled, std::size(polled), poll_timeout_ms(wake, steady_clock::now()));
            if (polled[0].revents != 0 && !skip_input(input)) return Ok{};
            if (polled[1].revents != 0) take_request(listener);
            if (looks_for_files() && steady_clock::now() >= next_look_) read_files();
            while (children.take()) {
            }
            start_again();
            show_change();
        }
    }

private:
    /// \return false at its end
    static bool skip_input(int input) {
        char bytes[256];
        auto const count = ::read(input, bytes, sizeof bytes);
        return count > 0 || (count < 0 && errno == EINTR);
    }

    void show_change() {
        bool const has_one =
            std::ranges::any_of(interpreters_, [](auto const& each) { return each.second.pid != 0; });
        if (has_one != std::exchange(has_shown_, has_one)) show_(has_one);
    }

    void take_request(UniqueFd const& listener) {
        UniqueFd const connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection || !is_peer_of_this_user(connection.get())) return;
        auto const message = receive_message(connection.get());
        if (!message) return;
        is_asked_ = true;
        keep(*message, Listens::afterwards);
    }

    /// Ranks of this node ask by the socket. A node without ranks finds the files of the chief.
    bool looks_for_files() const {
        return !is_asked_ && (!first_file_at_ || steady_clock::now() - *first_file_at_ < more_files_within);
    }

    void read_files() {
        between_looks_ = std::min(2 * between_looks_, between_looks_max);
        for (auto const& name :
             list_trusted_directory(place_.directory).value_or(std::vector<std::string>())) {
            if (interpreters_.contains(name)) continue;
            auto const message = read_trusted_file(place_.directory / name, message_max_bytes);
            if (!message || message->size() < 4) continue;
            if (!first_file_at_) first_file_at_ = steady_clock::now();
            keep(std::string_view(*message).substr(4), Listens::at_once);
        }
        if (first_file_at_) between_looks_ = between_looks_min;
        next_look_ = steady_clock::now() + between_looks_;
    }

    void keep(std::string_view message, Listens listens) {
        auto program = parse_warm_program(message);
        if (!program) return;
        auto const key = warm_key(*program);
        if (interpreters_.contains(key) || interpreters_.size() >= interpreters_max) return;
        start(key, interpreters_.emplace(key, Interpreter{*std::move(program)}).first->second, listens);
    }

    void start(std::string const& key, Interpreter& interpreter, Listens listens) const {
        ++interpreter.starts;
        auto environment = interpreter.program.environment;
        environment.set("SLURMD_NODENAME", node_);  // the program may be that of another node
        environment.set("DET_WARM_ROOM", std::string(variable_room_bytes, ' '));
        SpawnSettings settings;
        sigset_t none;
        ::sigemptyset(&none);
        settings.block(none);
        settings.without_input();
        auto const& program = interpreter.program;
        auto const pid =
            spawn({program.argv.front(), script_, std::string(argument_room_bytes, ' '),
                   local_socket_name(place_.name, node_, key), program.directory,
                   join_numbers(program.processors), listens == Listens::at_once ? "at-once" : "afterwards"},
                  environment, settings);
        interpreter.pid = pid ? *pid : 0;
        if (!pid) interpreter.starts = starts_max;
    }

    /// Starts those again that were killed. One that has ended by itself has said why.
    void start_again() {
        int status = 0;
        for (auto pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
            for (auto& [key, interpreter] : interpreters_) {
                if (interpreter.pid != pid) continue;
                interpreter.pid = 0;
                if (WIFSIGNALED(status) && interpreter.starts < starts_max)
                    start(key, interpreter, Listens::at_once);
            }
        }
    }

    WarmStartPlace const& place_;
    std::string node_;
    std::filesystem::path script_;
    std::function<void(bool)> const& show_;
    bool has_shown_ = false;
    std::map<std::string, Interpreter> interpreters_;
    bool is_asked_ = false;
    std::optional<steady_clock::time_point> first_file_at_;
    std::chrono::seconds between_looks_ = between_looks_min;
    steady_clock::time_point next_look_ = steady_clock::now() + first_look_after;
};

}  // namespace

Status keep_interpreters(WarmStartPlace const& place, Environment const& environment,
                         std::filesystem::path const& interpreter, int input,
                         std::function<void(bool)> const& show) {
    auto node = environment.find("SLURMD_NODENAME").value_or("");
    DET_TRY_ASSIGN(auto const listener, listen_locally(local_socket_name(place.name, node, "keeper")));
    if (!listener) return Ok{};
    // The monitors of an interpreter that was killed, whose ranks run on, become children of this process.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    DET_TRY_ASSIGN(auto const children, SignalReader::open(signal_set({SIGCHLD})));
    return InterpreterKeeper(place, std::move(node), interpreter, show).run(*listener, children, input);
}

}  // namespace det::launch::launchers
