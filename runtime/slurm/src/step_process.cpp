#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/slurm/step_process.hpp>

#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace det::slurm {

Result<StepProcess> StepProcess::start(std::vector<std::string> const& argv, Environment const& environment) {
    SpawnSettings settings;
    // Not USR2, which asks the ranks to stop: srun of Slurm 26.05 does not receive a signal that is blocked
    // when it starts. Earlier releases block and receive all signals themselves.
    settings.block(signal_set({SIGTERM, SIGINT, SIGHUP}));
    DET_TRY_ASSIGN(auto const pid, spawn(argv, environment, settings));
    return watch(pid);
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
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)), exit_code_(other.exit_code_) {}

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

void StepProcess::signal(int number) {
    if (!exit_code_) ::kill(pid_, number);
}

}  // namespace det::slurm
