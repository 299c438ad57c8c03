#include "init_start.hpp"

#include <det/foundation/executable.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "error_codes.hpp"
#include "process_handle.hpp"

namespace det::loopback {
namespace {

constexpr std::string_view say_prefix = "say ", failed_prefix = "failed ";

std::vector<std::string> command_line(InitOptions const& options) {
    std::vector<std::string> words{own_executable().string(),
                                   "init",
                                   fmt::format("--dir={}", options.paths.base().string()),
                                   fmt::format("--name={}", options.paths.name()),
                                   fmt::format("--nodes={}", options.nodes),
                                   fmt::format("--slots={}", options.slots),
                                   fmt::format("--cpus={}", options.cpus),
                                   fmt::format("--proctrack={}", to_string(options.proctrack)),
                                   fmt::format("--software={}", options.software.string()),
                                   fmt::format("--slurm-version={}", options.slurm.version),
                                   fmt::format("--profile={}", options.profile.name)};
    if (!options.slurm.root.empty()) {
        words.push_back(fmt::format("--root={}", options.slurm.root.string()));
        words.push_back(fmt::format("--parts={}", options.slurm.parts.string()));
    }
    return words;
}

/// Executes the init process without the descriptors, working directory and environment of the caller.
[[noreturn]] void execute_init(std::vector<std::string> const& argv, int pipe, std::string const& log) {
    restore_default_signals();
    ::umask(022);
    static_cast<void>(::chdir("/") == 0);
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644), STDERR_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    if (pipe == startup_fd) ::fcntl(pipe, F_SETFD, 0);
    if (pipe != startup_fd) ::dup2(pipe, startup_fd);
    ::close_range(startup_fd + 1, ~0U, 0);
    std::vector<std::string> const environment{fmt::format("PATH={}", system_path)};
    ::execve(argv[0].c_str(), CStrings(argv).data(), CStrings(environment).data());
    ::perror("start the init process");
    ::_exit(127);
}

/// Runs in a child that ends at once, so that the init process is not a child of 'cluster up'.
[[noreturn]] void fork_init(std::vector<std::string> const& argv, int pipe, std::string const& log) {
    ::setsid();
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(errno);
    pid_t const init = ::fork();
    if (init == 0) execute_init(argv, pipe, log);
    ::_exit(init < 0 ? errno : 0);
}

Error failure_of(std::string_view text) {
    auto const lines = split_lines(text);
    Error error{codes::process, std::string(lines.empty() ? text : lines.front())};
    for (std::size_t i = 1; i < lines.size(); ++i) error.notes.emplace_back(lines[i]);
    return error;
}

/// Handles the complete lines of `text` and removes them. Returns true after 'started'.
Result<bool> handle_lines(std::string& text, std::function<void(std::string_view)> const& say) {
    for (;;) {
        if (text.starts_with(failed_prefix)) return false;  // the reason extends to the end of the stream
        auto const end = text.find('\n');
        if (end == std::string::npos) return false;
        auto const line = text.substr(0, end);
        text.erase(0, end + 1);
        if (line == "started") return true;
        if (line.starts_with(say_prefix)) say(line.substr(say_prefix.size()));
    }
}

/// Returns nullopt at the end of the stream.
Result<std::optional<std::string>> read_some(UniqueFd const& pipe, SignalReader const& interrupts,
                                             Deadline const& deadline) {
    std::array<pollfd, 2> polled{pollfd{pipe.get(), POLLIN, 0}, pollfd{interrupts.fd(), POLLIN, 0}};
    auto const ready = ::poll(polled.data(), polled.size(), deadline.milliseconds_left());
    if (ready == 0) return Error{codes::timed_out, "the daemons did not start in time"};
    if (polled[1].revents != 0) return Error{codes::interrupted, "interrupted"};
    std::array<char, 4096> buffer;
    auto const count = ::read(pipe.get(), buffer.data(), buffer.size());
    if (count <= 0) return std::optional<std::string>();
    return std::optional(std::string(buffer.data(), static_cast<std::size_t>(count)));
}

}  // namespace

Result<UniqueFd> start_init_process(InitOptions const& options) {
    DET_TRY_ASSIGN(auto pipe, make_pipe());
    auto const argv = command_line(options);
    auto const log = (options.paths.log() / "init.log").string();

    pid_t const child = ::fork();
    if (child < 0) return os_error("start the init process", errno);
    if (child == 0) fork_init(argv, pipe.write_end.get(), log);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) return os_error("make a PID namespace", exit_code_of_wait_status(status));
    return std::move(pipe.read_end);
}

Status wait_until_started(UniqueFd const& pipe, SignalReader const& interrupts, Deadline const& deadline,
                          std::function<void(std::string_view)> const& say) {
    std::string text;
    for (;;) {
        DET_TRY_ASSIGN(auto const more, read_some(pipe, interrupts, deadline));
        if (!more) break;
        text += *more;
        DET_TRY_ASSIGN(bool const started, handle_lines(text, say));
        if (started) return Ok{};
    }
    if (text.starts_with(failed_prefix)) return failure_of(text.substr(failed_prefix.size()));
    return Error{codes::process, "the init process ended and reported no reason"};
}

bool StartupReport::send(std::string_view kind, std::string_view text) {
    if (!pipe_) return false;
    auto const separator = text.empty() ? "" : " ";
    return static_cast<bool>(write_all(pipe_.get(), fmt::format("{}{}{}\n", kind, separator, text), "pipe"));
}

bool StartupReport::started() {
    bool const received = send("started", "");
    pipe_.reset();
    return received;
}

void StartupReport::failed(Error const& error) {
    auto text = error.message;
    for (auto const& note : error.notes) text += "\n" + note;
    send("failed", text);
    pipe_.reset();
}

}  // namespace det::loopback
