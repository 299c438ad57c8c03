#include "child.hpp"

#include <det/foundation/process.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "signals.hpp"

namespace det::launch::wrap_rank {

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return os_error("make a pipe", errno);
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void Child::exec_command(RelayedCommand const& command, Group group, pid_t parent, Pipe const& out,
                         Pipe const& err, char* const* argv, char* const* variables) {
    // A launcher that sends SIGKILL to the wrapper means to kill the rank.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(128 + SIGKILL);
    if (group == Group::own) ::setpgid(0, 0);
    ::dup2(out.write_end.get(), STDOUT_FILENO);
    ::dup2(err.write_end.get(), STDERR_FILENO);
    ::signal(SIGPIPE, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &command.signal_mask, nullptr);
    if (command.directory && ::chdir(command.directory->c_str()) != 0) ::_exit(127);
    ::execvpe(argv[0], argv, variables);
    int const reason = errno;
    ::dprintf(STDERR_FILENO, "det-wrap-rank: error: cannot start '%s': %s [%s]\n", argv[0],
              ::strerror(reason), reason == ENOENT ? "no-such-file" : "permission");
    ::_exit(reason == ENOENT ? 127 : 126);
}

Result<Child> Child::start(RelayedCommand const& command, Pipe const& out, Pipe const& err) {
    CStrings const argv(command.argv);
    CStrings const variables(command.environment.to_list());
    // In the terminal's foreground process group the child stays in our group, so that it may read from the
    // terminal.
    auto const group = is_in_foreground() ? Group::ours : Group::own;
    pid_t const parent = ::getpid();
    pid_t const child = ::fork();
    if (child < 0) return os_error("fork", errno);
    if (child == 0) exec_command(command, group, parent, out, err, argv.data(), variables.data());
    if (group == Group::own) ::setpgid(child, child);
    return Child(child, group);
}

void Child::signal(int number) const { ::kill(group_ == Group::own ? -pid_ : pid_, number); }

void Child::signal_by_terminal(int number) const {
    if (group_ == Group::own) signal(number);
}

std::optional<int> Child::poll_status() const {
    int status = 0;
    return ::waitpid(pid_, &status, WNOHANG) == pid_ ? std::optional(status) : std::nullopt;
}

}  // namespace det::launch::wrap_rank
