#include "child.hpp"

#include <det/foundation/process.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::workers {

Result<Child> Child::start(std::vector<std::string> const& argv, Environment const& environment,
                           sigset_t const& mask, Group group) {
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigmask(&attributes, &mask);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    int const flags =
        POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (group == Group::own ? POSIX_SPAWN_SETPGROUP : 0);
    ::posix_spawnattr_setflags(&attributes, static_cast<short>(flags));

    CStrings const arguments(argv);
    CStrings const variables(environment.to_list());
    pid_t pid = -1;
    int const failed =
        ::posix_spawnp(&pid, argv.at(0).c_str(), nullptr, &attributes, arguments.data(), variables.data());
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) return os_error(fmt::format("start '{}'", argv.at(0)), failed);
    Child child(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))), group);
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

std::optional<int> Child::poll_status() {
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    return status_;
}

void Child::signal(int number) {
    if (!status_) ::kill(pid_, number);
}

Result<TakenSignals> TakenSignals::take() {
    sigset_t taken, before;
    ::sigprocmask(SIG_SETMASK, nullptr, &before);
    ::sigemptyset(&taken);
    for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH}) {
        if (::sigismember(&before, number) == 0) ::sigaddset(&taken, number);
    }
    ::sigprocmask(SIG_BLOCK, &taken, nullptr);
    UniqueFd fd(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) return os_error("watch for signals", errno);
    return TakenSignals(std::move(fd), before);
}

TakenSignals::~TakenSignals() {
    if (fd_) ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::vector<int> TakenSignals::read() {
    std::vector<int> numbers;
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
        numbers.push_back(static_cast<int>(info.ssi_signo));
    }
    return numbers;
}

}  // namespace det::workers
