// Stands in the run's step for a program that an interpreter outside of the step runs (slurm.warm_start).
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/signal_sender.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/launchers/warm_start.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.hpp"
#include "local_socket.hpp"

namespace det::launch::launchers {
namespace {

namespace fs = std::filesystem;

WarmProgram describe_program(std::vector<std::string> argv, Environment const& environment,
                             sigset_t const& mask) {
    WarmProgram program{std::move(argv), environment, fs::current_path(), 0};
    auto const mode = ::umask(077);
    ::umask(mode);
    program.umask = static_cast<int>(mode);
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        for (int i = 0; i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(i, &allowed)) program.processors.push_back(i);
        }
    }
    for (int number = 1; number < SIGRTMIN; ++number) {
        if (::sigismember(&mask, number) == 1) program.blocked.push_back(number);
    }
    for (int which = 0; which < static_cast<int>(RLIMIT_NLIMITS); ++which) {
        rlimit limit{};
        auto const resource = static_cast<__rlimit_resource_t>(which);
        if (::getrlimit(resource, &limit) == 0)
            program.limits.push_back(fmt::format("{}:{}:{}", which, static_cast<std::int64_t>(limit.rlim_cur),
                                                 static_cast<std::int64_t>(limit.rlim_max)));
    }
    return program;
}

/// Sends the message, with the standard descriptors of this process at its first bytes.
bool send_with_files(int socket, std::string_view message) {
    int const files[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof files)] = {};
    iovec part{const_cast<char*>(message.data()), message.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    auto* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof files);
    std::memcpy(CMSG_DATA(rights), files, sizeof files);
    auto const sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
    if (sent < 0) return false;
    message.remove_prefix(static_cast<std::size_t>(sent));
    while (!message.empty()) {
        auto const count = ::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) message.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

bool is_first_rank(Environment const& environment) {
    auto const rank = environment.find_non_empty("RANK");
    return (rank ? rank : environment.find_non_empty("SLURM_PROCID")).value_or("0") == "0";
}

/// Asks for an interpreter for the next start, on this node and, for nodes without ranks, by a file.
void ask_for_interpreter(WarmStartPlace const& place, std::string const& node, WarmProgram const& program) {
    auto const message = render_warm_program(program);
    if (auto const keeper = connect_locally(local_socket_name(place.name, node, "keeper")))
        (void)send_with_files(keeper->get(), message);
    if (!is_first_rank(program.environment)) return;
    (void)make_directories(place.directory);
    (void)write_new_secret_file(place.directory / warm_key(program), message);
}

/// The launcher that the command becomes, and what follows; empty: it becomes none. A launcher starts each
/// rank with a call of its own.
std::vector<std::string> find_launcher_call(std::vector<std::string> const& command) {
    constexpr std::string_view package = "determined.launch.";
    for (auto word = command.begin(); word != command.end(); ++word) {
        if (fs::path(*word).filename() == "det-launch") return {word + 1, command.end()};
        if (!word->starts_with(package)) continue;
        std::vector<std::string> call{word->substr(package.size())};
        call.insert(call.end(), word + 1, command.end());
        return call;
    }
    return {};
}

/// Why the ranks of a launcher start as usual; empty: they don't.
std::string find_cold_launcher(std::vector<std::string> const& call) {
    constexpr std::array<std::string_view, 6> cold{"horovod", "autohorovod", "deepspeed",
                                                   "mpi",     "tensorflow",  "jax"};
    if (std::ranges::find(cold, call.front()) != cold.end()) return call.front();
    bool const has_options = call.front() == "torch_distributed" && call.size() > 1 &&
                             call[1].starts_with('-') && !call[1].starts_with("--trial");
    return has_options ? "torchrun, which has options," : "";
}

/// Whether a process has a handler of the signal.
bool catches(pid_t process, int number) {
    auto const status = read_file(fmt::format("/proc/{}/status", process)).value_or("");
    constexpr std::string_view key = "\nSigCgt:\t";
    auto const at = status.find(key);
    if (at == status.npos) return false;
    auto const mask = std::strtoull(status.c_str() + at + key.size(), nullptr, 16);
    return (mask >> (number - 1) & 1) != 0;
}

/// What the monitor of the rank says, line by line.
class RankEvents {
public:
    explicit RankEvents(int socket) : socket_(socket) {}
    /// Reads what has come. \return false at the end of the connection
    bool read() {
        char bytes[256];
        auto const count = ::recv(socket_, bytes, sizeof bytes, 0);
        if (count < 0 && errno == EINTR) return true;
        if (count <= 0) return false;
        text_.append(bytes, static_cast<std::size_t>(count));
        for (auto end = text_.find('\n'); end != text_.npos; end = text_.find('\n')) {
            take(std::string_view(text_).substr(0, end));
            text_.erase(0, end + 1);
        }
        return true;
    }
    pid_t rank = 0;
    std::optional<int> status = std::nullopt;  // of waitpid(2)

private:
    void take(std::string_view line) {
        auto const space = std::min(line.find(' '), line.size());
        auto const number = parse_integer<int>(line.substr(std::min(space + 1, line.size())));
        if (line.starts_with("started")) rank = number.value_or(0);
        if (line.starts_with("ended")) status = number;
    }
    int socket_;
    std::string text_;
};

void pass_on(signalfd_siginfo const& info, int socket, pid_t rank) {
    auto const number = static_cast<int>(info.ssi_signo);
    // Slurm signals the rank itself, if it signals all processes of the job.
    if (is_sent_by_slurm(static_cast<pid_t>(info.ssi_pid), info.ssi_uid)) return;
    // The sender has checked that this process reads USR1. The rank may not: without a handler it would end.
    if (number == SIGUSR1 && !catches(rank, number)) return;
    auto const line = fmt::format("{}\n", number);
    (void)::send(socket, line.data(), line.size(), MSG_NOSIGNAL);
}

// An interpreter that listens before its import (Listens::at_once) first ends that, which may take long on a
// slow file system; then it waits ten seconds at most for the ranks of an older run (warm_interpreter.py). It
// answers nothing before, so that one that hangs costs the whole time.
constexpr auto started_within = std::chrono::seconds(60);

/// \return nullopt if no rank was started in time. A monitor whose connection has ended kills its rank.
std::optional<WorkerEnd> wait_for_program(UniqueFd const& socket, SignalReader const& signals) {
    RankEvents events(socket.get());
    pollfd polled[] = {{socket.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    auto const deadline = std::chrono::steady_clock::now() + started_within;
    while (!events.status) {
        auto const now = std::chrono::steady_clock::now();
        if (events.rank == 0 && now >= deadline) break;
        polled[1].fd = events.rank > 0 ? signals.fd() : -1;  // signals wait until there is a rank
        int const timeout_ms = events.rank > 0 ? -1 : poll_timeout_ms(deadline, now);
        if (::poll(polled, std::size(polled), timeout_ms) < 0) continue;
        if (polled[0].revents != 0 && !events.read()) break;
        while (auto const info = polled[1].fd >= 0 ? signals.take() : std::nullopt)
            pass_on(*info, socket.get(), events.rank);
    }
    if (events.rank == 0) return std::nullopt;
    // Without a status the monitor was killed, and the kernel has killed the rank then.
    int const status = events.status.value_or(SIGKILL);
    return WorkerEnd{exit_code_of_wait_status(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

}  // namespace

Result<std::optional<WorkerEnd>> run_warm(std::vector<std::string> const& command,
                                          Environment const& environment,
                                          std::function<void(std::string const&)> const& warn) {
    auto const place = parse_warm_start_place(environment.find(variables::warm_start).value_or(""));
    if (!place) return std::optional<WorkerEnd>();
    if (auto const call = find_launcher_call(command); !call.empty()) {
        auto const cold = find_cold_launcher(call);
        if (!cold.empty() && is_first_rank(environment))
            warn(fmt::format("slurm.warm_start has no effect: {} starts the ranks as usual", cold));
        return std::optional<WorkerEnd>();
    }
    auto argv = find_python_program(command, environment);
    if (!argv) {
        if (is_first_rank(environment))
            warn(fmt::format(
                "slurm.warm_start has no effect on '{}': it is no call of Python with a script or a "
                "module, and without options",
                command.empty() ? "" : command.front()));
        return std::optional<WorkerEnd>();
    }
    DET_TRY_ASSIGN(auto const signals, open_forwarded_signals());
    auto const program = describe_program(*std::move(argv), environment, signals.mask_before());
    auto const node = environment.find("SLURMD_NODENAME").value_or("");
    auto const interpreter = connect_locally(local_socket_name(place->name, node, warm_key(program)));
    if (!interpreter) {
        ask_for_interpreter(*place, node, program);
        return std::optional<WorkerEnd>();
    }
    if (!send_with_files(interpreter->get(), render_warm_program(program))) return std::optional<WorkerEnd>();
    return wait_for_program(*interpreter, signals);
}

}  // namespace det::launch::launchers
