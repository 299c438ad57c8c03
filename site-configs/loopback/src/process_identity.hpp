#pragma once
#include <det/foundation/files.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <sys/types.h>

#include "deadline.hpp"

namespace det::loopback {

/// A process for ever: its pid alone may by now be somebody else's.
struct ProcessIdentity {
    pid_t pid = -1;
    std::uint64_t start_time = 0;  // field 22 of /proc/<pid>/stat, in clock ticks since boot

    friend bool operator==(ProcessIdentity const&, ProcessIdentity const&) = default;
};

/// From the text of /proc/<pid>/stat; nothing for a zombie, which has ended.
std::optional<ProcessIdentity> parse_stat(std::string_view text);
std::optional<ProcessIdentity> identify(pid_t pid);
/// As /proc has it: in the keeper, before it mounts its own, the pid by which the host knows it.
std::optional<ProcessIdentity> identify_self();

/// A pidfd: signals sent through it can't reach a stranger.
class ProcessHandle {
public:
    /// Nothing where that process is no more.
    static std::optional<ProcessHandle> open(ProcessIdentity const& identity);

    pid_t pid() const { return pid_; }
    int fd() const { return fd_.get(); }
    void signal(int number) const;
    /// True once it has ended; of the first process of a PID namespace that means all of them.
    bool wait_until(Deadline const& deadline) const;

private:
    ProcessHandle(pid_t pid, UniqueFd fd) : pid_(pid), fd_(std::move(fd)) {}

    pid_t pid_;
    UniqueFd fd_;
};

}  // namespace det::loopback
