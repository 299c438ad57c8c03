#include "child_monitor.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/signalfd.h>

#include "signals.hpp"

namespace det::launch::wrap_rank {

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
    // Without its slurmstepd Slurm neither learns of the task's end nor can end it.
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
