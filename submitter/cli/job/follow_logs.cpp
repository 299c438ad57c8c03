#include "job/follow_logs.hpp"

#include <det/foundation/process.hpp>

#include <csignal>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::cli {
namespace {

std::vector<std::string> logs_command(std::uint32_t experiment) {
    return {"det-submit", "trial", "logs", std::to_string(experiment), "--follow"};
}

/// Ignores SIGINT during its lifetime, so that Ctrl-C ends only the child process.
class IgnoredInterrupt {
public:
    IgnoredInterrupt() : before_(::signal(SIGINT, SIG_IGN)) {}
    ~IgnoredInterrupt() { ::signal(SIGINT, before_); }
    IgnoredInterrupt(IgnoredInterrupt const&) = delete;
    IgnoredInterrupt& operator=(IgnoredInterrupt const&) = delete;

private:
    void (*before_)(int);
};

}  // namespace

Status follow_logs(std::uint32_t experiment) {
    IgnoredInterrupt const ignored;
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGINT);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    CStrings const argv(logs_command(experiment));
    pid_t child = -1;
    int const failed = ::posix_spawn(&child, "/proc/self/exe", nullptr, &attributes, argv.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) return os_error("start det-submit", failed);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return Ok{};
}

}  // namespace det::cli
