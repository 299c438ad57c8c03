#include "child.hpp"

#include <det/foundation/process.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
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
    // If a launcher sends SIGKILL to the wrapper, the rank must end too.
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
    // If this process is in the terminal's foreground process group, the child stays in that group, so that
    // it may read from the terminal.
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

Result<int> ChildMonitor::wait_for_exit() {
    sigset_t const taken = relayed_signals();
    UniqueFd const signals(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals) return os_error("watch a process", errno);
    for (;;) {
        if (auto const status = child_.poll_status()) return *status;
        beat();
        pollfd polled{signals.get(), POLLIN, 0};
        if (::poll(&polled, 1, milliseconds_to_wait()) < 0 && errno != EINTR) return os_error("wait", errno);
        take_signals(signals);
        if (kill_at_ && clock_.steady_now() >= *kill_at_) {
            child_.signal(SIGKILL);
            kill_at_.reset();
        }
    }
}

int ChildMonitor::milliseconds_to_wait() const {
    if (!kill_at_ && !beat_at_) return -1;
    auto const next = std::min(kill_at_.value_or(TimePoint::max()), beat_at_.value_or(TimePoint::max()));
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(next - clock_.steady_now());
    return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

void ChildMonitor::beat() {
    auto const now = clock_.steady_now();
    if (!command_.beat || (beat_at_ && now < *beat_at_)) return;
    command_.beat();
    // If the parent (slurmstepd) is gone, Slurm neither learns of the task's end nor can end the task.
    if (::getppid() != parent_) child_.signal(SIGKILL);
    beat_at_ = now + command_.beat_interval;
}

void ChildMonitor::take_signals(UniqueFd const& signals) {
    signalfd_siginfo info{};
    while (::read(signals.get(), &info, sizeof info) == sizeof info) {
        auto const number = static_cast<int>(info.ssi_signo);
        if (number == SIGCHLD) continue;
        if (number == SIGTERM && is_from_launcher(static_cast<pid_t>(info.ssi_pid))) {
            terminate();
        } else if (command_.handle_signal && command_.handle_signal(number)) {
            continue;
        } else if (info.ssi_code == SI_KERNEL) {
            child_.signal_by_terminal(number);
        } else {
            child_.signal(number);
        }
    }
}

bool ChildMonitor::is_from_launcher(pid_t sender) const {
    return command_.handle_signal && command_.started_by == StartedBy::launcher && is_ancestor(sender);
}

void ChildMonitor::terminate() {
    child_.signal(SIGTERM);
    if (!kill_at_) kill_at_ = clock_.steady_now() + terminate_grace;
}

}  // namespace det::launch::wrap_rank
