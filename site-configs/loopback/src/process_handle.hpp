#pragma once
#include <det/foundation/files.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "deadline.hpp"

namespace det::loopback {

/// Identifies a process even after its pid has been reused for another process.
struct ProcessIdentity {
    pid_t pid = -1;
    std::uint64_t start_time = 0;  // field 22 of /proc/<pid>/stat, in clock ticks since boot

    friend bool operator==(ProcessIdentity const&, ProcessIdentity const&) = default;
};

/// Parses the text of /proc/<pid>/stat. Returns nullopt for a process that has ended (a zombie) and for any
/// other text.
std::optional<ProcessIdentity> parse_stat(std::string_view text);
std::optional<ProcessIdentity> identify(pid_t pid);
/// Read from /proc/self/stat. Before the init process mounts the /proc of its PID namespace, this is the pid
/// that the host machine uses.
std::optional<ProcessIdentity> identify_self();

/// A pidfd. A signal sent through it can't reach another process that has reused the pid.
class ProcessHandle {
public:
    /// Returns nullopt if the process has ended or can't be opened.
    static std::optional<ProcessHandle> open(ProcessIdentity const& identity);

    pid_t pid() const { return pid_; }
    int fd() const { return fd_.get(); }
    void signal(int number) const;
    /// Returns true when the process has ended, false when the deadline has passed. The first process of a
    /// PID namespace ends after all other processes of the namespace.
    bool wait_until(Deadline const& deadline) const;

private:
    ProcessHandle(pid_t pid, UniqueFd fd) : pid_(pid), fd_(std::move(fd)) {}

    pid_t pid_;
    UniqueFd fd_;
};

/// In a child before exec: sets every signal to its default action and unblocks all signals.
void restore_default_signals();

inline constexpr char const* system_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace det::loopback
