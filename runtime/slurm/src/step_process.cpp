#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/slurm/step_process.hpp>

#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace det::slurm {

Result<StepProcess> StepProcess::start(std::vector<std::string> const& argv, Environment const& environment) {
    return start_here(argv, environment, signal_set({SIGTERM, SIGINT, SIGHUP}), {});
}

Result<StepProcess> StepProcess::start_here(std::vector<std::string> const& argv,
                                            Environment const& environment, sigset_t const& blocked,
                                            Output const& output) {
    // A socket instead of a pipe, so that a write after the end of srun is an error and no SIGPIPE.
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return os_error("make a socket for srun", errno);
    UniqueFd const theirs(ends[0]);
    UniqueFd ours(ends[1]);
    SpawnSettings settings;
    settings.block(blocked);
    settings.connect(theirs, STDIN_FILENO);
    if (output.out) settings.connect(output.out, STDOUT_FILENO);
    if (output.err) settings.connect(output.err, STDERR_FILENO);
    DET_TRY_ASSIGN(auto const pid, spawn(argv, environment, settings));
    DET_TRY_ASSIGN(auto step, watch(pid));
    step.input_ = std::move(ours);
    return step;
}

Result<StepProcess> StepProcess::start_with_pdeathsig(std::vector<std::string> const& argv,
                                                      Environment const& environment) {
    CStrings const arguments(argv);
    CStrings const variables(environment.to_list());
    DET_TRY_ASSIGN(auto exec_error, make_pipe());
    pid_t const parent = ::getpid();
    pid_t const pid = ::fork();
    if (pid < 0) return os_error("fork", errno);
    if (pid == 0) {
        auto const none = signal_set({});
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::prctl(PR_SET_PDEATHSIG, SIGINT);
        if (::getppid() != parent) ::_exit(1);  // the parent has already ended
        ::execvpe(arguments.data()[0], arguments.data(), variables.data());
        int const failed = errno;
        (void)!::write(exec_error.write_end.get(), &failed, sizeof failed);
        ::_exit(127);
    }
    DET_TRY_ASSIGN(auto step, watch(pid));
    exec_error.write_end.reset();
    int failed = 0;  // stays 0 if exec succeeded
    if (::read(exec_error.read_end.get(), &failed, sizeof failed) == sizeof failed) {
        return os_error(fmt::format("start '{}'", argv.at(0)), failed);
    }
    return step;
}

Result<StepProcess> StepProcess::watch(pid_t pid) {
    StepProcess step(pid, open_pidfd(pid));
    if (!step.pidfd_) return os_error("watch a step", errno);
    return step;
}

StepProcess::StepProcess(StepProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      exit_code_(other.exit_code_),
      input_(std::move(other.input_)) {}

StepProcess::~StepProcess() {
    if (pid_ > 0 && !exit_code_) {
        ::kill(pid_, SIGKILL);
        wait();
    }
}

std::optional<int> StepProcess::poll_exit() {
    if (exit_code_) return exit_code_;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) exit_code_ = exit_code_of_wait_status(status);
    return exit_code_;
}

int StepProcess::wait() {
    if (!exit_code_) {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        exit_code_ = exit_code_of_wait_status(status);
    }
    return *exit_code_;
}

Status StepProcess::write_line(std::string_view line) {
    auto const text = fmt::format("{}\n", line);
    auto const sent = ::send(input_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(text.size())) return Ok{};
    return os_error("write to srun's standard input", sent < 0 ? errno : EAGAIN);
}

void StepProcess::signal(int number) {
    if (!exit_code_) ::kill(pid_, number);
}

}  // namespace det::slurm
