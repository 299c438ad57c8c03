#include "child.hpp"

#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/protocol/forward_signals.hpp>
#include <det/protocol/task_identity.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::launch::launchers {

Result<Child> Child::start(std::vector<std::string> const& argv, Environment const& environment,
                           sigset_t const& mask, Group group) {
    SpawnSettings settings;
    settings.block(mask);
    settings.handle_by_default(signal_set({SIGPIPE}));
    if (group == Group::own) settings.in_own_group();
    DET_TRY_ASSIGN(auto const pid, spawn(argv, environment, settings));
    Child child(pid, open_pidfd(pid), group);
    if (!child.pidfd_) return os_error("watch a process", errno);
    return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      group_(other.group_),
      status_(other.status_) {}

Child::~Child() {
    if (pid_ <= 0 || status_) return;
    ::kill(group_ == Group::own ? -pid_ : pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
}

std::optional<int> Child::poll_wait_status() {
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_;
}

void Child::signal(int number) {
    if (!status_) ::kill(pid_, number);
}

Result<SignalReader> open_forwarded_signals() {
    return SignalReader::open(signal_set({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH}));
}

std::vector<int> notice_signals(Environment const& environment) {
    if (!environment.find_non_empty(variables::run_path)) return {};
    auto signals = parse_forward_signals(environment.find(variables::forward_signals).value_or(""));
    signals.push_back(SIGTERM);
    return signals;
}

}  // namespace det::launch::launchers
