#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/start_thread.hpp>

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det {

SpawnSettings::SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
}

SpawnSettings::~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
}

void SpawnSettings::set_flag(short flag) {
    short flags = 0;
    ::posix_spawnattr_getflags(&attributes_, &flags);
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags | flag));
}

void SpawnSettings::block(sigset_t const& signals) {
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    set_flag(POSIX_SPAWN_SETSIGMASK);
}

void SpawnSettings::handle_by_default(sigset_t const& signals) {
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    set_flag(POSIX_SPAWN_SETSIGDEF);
}

void SpawnSettings::in_own_group() {
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    set_flag(POSIX_SPAWN_SETPGROUP);
}

void SpawnSettings::connect(UniqueFd const& ours, int theirs) {
    ::posix_spawn_file_actions_adddup2(&actions_, ours.get(), theirs);
}

void SpawnSettings::without_input() {
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
}

Result<pid_t> spawn(std::vector<std::string> const& argv, Environment const& environment,
                    SpawnSettings const& settings) {
    CStrings const arguments(argv);
    CStrings const variables(environment.to_list());
    pid_t pid = -1;
    int const failed = ::posix_spawnp(&pid, argv.at(0).c_str(), settings.actions(), settings.attributes(),
                                      arguments.data(), variables.data());
    if (failed != 0) return os_error(fmt::format("start '{}'", argv.at(0)), failed);
    return pid;
}

UniqueFd open_pidfd(pid_t pid) {
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0u)));
    // Linux before 5.3 (EL8's 4.18) has no pidfd_open. A filter of system calls may answer EPERM.
    if (!pidfd && (errno == ENOSYS || errno == EPERM)) return watch_exit_with_thread(pid);
    return pidfd;
}

UniqueFd watch_exit_with_thread(pid_t pid) {
    if (::kill(pid, 0) != 0 && errno == ESRCH) return {};
    auto pipe = make_pipe();
    if (!pipe) return {};
    auto const watch = [pid, end = std::make_shared<UniqueFd>(std::move(pipe->write_end))] {
        siginfo_t info{};
        // WNOWAIT leaves the exit code to the caller. Only a child can be waited for; others are polled.
        while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0) {
            if (errno == EINTR) continue;
            if (errno != ECHILD || ::kill(pid, 0) != 0) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        (void)!::write(end->get(), "", 1);
    };
    // The thread ends with the process that it watches, or with this process.
    start_thread("det-pidwatch", [watch](std::stop_token const&) { watch(); }).detach();
    return std::move(pipe->read_end);
}

bool send_signal(UniqueFd const& process, pid_t pid, int signal) {
    if (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0) return true;
    // EBADF: a pipe of watch_exit_with_thread(). A filter of system calls may answer EPERM.
    if (errno != ENOSYS && errno != EBADF && errno != EPERM) return false;
    pollfd has_ended{process.get(), POLLIN, 0};
    if (::poll(&has_ended, 1, 0) > 0) {
        errno = ESRCH;
        return false;
    }
    return ::kill(pid, signal) == 0;
}

}  // namespace det
