#include <det/foundation/files.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/launchers/messages.hpp>
#include <det/launch/launchers/run_remotely.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/slurm/step_process.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace det::launch::launchers {
namespace {

using namespace std::chrono_literals;

constexpr auto time_to_end = 3s;  // from the forwarded signal until the command is killed

UniqueFd watch_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH}) {
        ::sigaddset(&set, number);
    }
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// Slurm sends its notice as root, or from a process named slurmstepd if it runs as a user.
bool is_from_slurm(signalfd_siginfo const& info) {
    if (info.ssi_uid == 0 && ::getuid() != 0) return true;
    auto const name = read_file(fmt::format("/proc/{}/comm", info.ssi_pid), 64);
    return name && trim(*name) == "slurmstepd";
}

class RemoteStep {
public:
    RemoteStep(slurm::StepProcess step, Clock const& clock, bool in_run)
        : step_(std::move(step)), clock_(clock), in_run_(in_run) {}

    void on_signal(signalfd_siginfo const& info) {
        auto const number = static_cast<int>(info.ssi_signo);
        bool const is_plain = number == SIGUSR1 || number == SIGUSR2 || number == SIGWINCH;
        if (is_plain) {
            step_.signal(number);
        } else if (in_run_ && number == SIGTERM && is_from_slurm(info)) {
            return;
        } else if (in_run_ || deadline_) {
            end();  // inside a run the command would take TERM for the preemption notice
        } else {
            step_.signal(number == SIGINT ? SIGTERM : number);
            deadline_ = clock_.steady_now() + time_to_end;
        }
    }

    /// Kills the command: srun runs with --quit-on-interrupt, so that one INT ends the step.
    void end() {
        step_.signal(SIGINT);
        deadline_.reset();
    }

    /// The timeout for poll(2).
    int time_left_ms() const {
        if (!deadline_) return -1;
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - clock_.steady_now());
        return static_cast<int>(std::max<std::int64_t>(0, left.count()));
    }
    bool is_late() const { return deadline_ && clock_.steady_now() >= *deadline_; }
    slurm::StepProcess& step() { return step_; }

private:
    slurm::StepProcess step_;
    Clock const& clock_;
    bool in_run_;
    std::optional<std::chrono::steady_clock::time_point> deadline_;
};

}  // namespace

Result<int> run_remotely(slurm::CommandOnNodes const& request, Environment const& environment,
                         Clock const& clock) {
    auto const parent = open_pidfd(::getppid());
    auto const path = environment.find_non_empty(launchers::socket_variable);
    auto const watch = path ? launchers::connect_to(*path) : std::nullopt;
    if (watch)
        launchers::send_message(
            *watch, launchers::WorkerHello{launchers::WorkerHello::Kind::remote, join(request.nodes, ",")});
    auto const signals = watch_signals();
    DET_TRY_ASSIGN(auto step, slurm::StepProcess::start_tied(slurm::render_srun(request),
                                                             without_step_variables(environment)));
    RemoteStep remote(std::move(step), clock, environment.find_non_empty(variables::run_key).has_value());
    pollfd polled[] = {{remote.step().pidfd(), POLLIN, 0},
                       {signals.get(), POLLIN, 0},
                       {parent.get(), POLLIN, 0},
                       {watch ? watch->get() : -1, POLLIN, 0}};
    for (;;) {
        if (::poll(polled, std::size(polled), remote.time_left_ms()) < 0 && errno != EINTR) {
            return os_error("wait", errno);
        }
        signalfd_siginfo info{};
        while (::read(signals.get(), &info, sizeof info) == sizeof info) remote.on_signal(info);
        for (auto* gone : {&polled[2], &polled[3]}) {
            if (gone->revents == 0) continue;
            remote.end();
            gone->fd = -1;
        }
        if (remote.is_late()) remote.end();
        if (auto const exit_code = remote.step().poll_exit()) {
            if (watch) launchers::send_message(*watch, launchers::WorkerExit{*exit_code});
            return *exit_code;
        }
    }
}

}  // namespace det::launch::launchers
