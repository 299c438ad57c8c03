#include "keeper_start.hpp"

#include <det/foundation/executable.hpp>
#include <det/foundation/process.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "codes.hpp"
#include "keeper_record.hpp"
#include "signal_watch.hpp"

namespace det::loopback {
namespace {

std::vector<std::string> command_line(KeeperOptions const& options) {
    return {own_executable().string(),
            "keeper",
            fmt::format("--dir={}", options.paths.base().string()),
            fmt::format("--name={}", options.paths.name()),
            fmt::format("--nodes={}", options.nodes),
            fmt::format("--slots={}", options.slots),
            fmt::format("--proctrack={}", to_string(options.proctrack)),
            fmt::format("--software={}", options.software.string())};
}

/// Nothing of the caller is kept: not its terminal, its pipes, its directory, its environment.
[[noreturn]] void become_keeper(std::vector<std::string> argv, int pipe, std::string const& log) {
    restore_default_signals();
    ::umask(022);
    static_cast<void>(::chdir("/") == 0);
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644), STDERR_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    if (pipe == startup_fd) ::fcntl(pipe, F_SETFD, 0);
    if (pipe != startup_fd) ::dup2(pipe, startup_fd);
    ::close_range(startup_fd + 1, ~0U, 0);
    std::vector<char*> arguments;
    for (auto& argument : argv) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char* environment[] = {path, nullptr};
    ::execve(arguments[0], arguments.data(), environment);
    ::perror("start the keeper");
    ::_exit(127);
}

/// In a child that is about to end, so that the keeper belongs to nobody.
[[noreturn]] void fork_keeper(std::vector<std::string> const& argv, int pipe, std::string const& log) {
    ::setsid();
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(errno);
    pid_t const keeper = ::fork();
    if (keeper == 0) become_keeper(argv, pipe, log);
    ::_exit(keeper < 0 ? errno : 0);
}

}  // namespace

Result<UniqueFd> start_keeper(KeeperOptions const& options) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return os_error("make a pipe", errno);
    UniqueFd read_end(ends[0]);
    UniqueFd const write_end(ends[1]);
    auto const argv = command_line(options);
    auto const log = (options.paths.log() / "keeper.log").string();

    pid_t const child = ::fork();
    if (child < 0) return os_error("start the keeper", errno);
    if (child == 0) fork_keeper(argv, write_end.get(), log);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) return os_error("make a PID namespace", exit_code_of_wait_status(status));
    return read_end;
}

}  // namespace det::loopback
