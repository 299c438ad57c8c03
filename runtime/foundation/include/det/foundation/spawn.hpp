#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>

#include <csignal>
#include <spawn.h>
#include <sys/types.h>
#include <vector>

namespace det {

/// Settings for a program started with spawn(). The program inherits everything else.
class SpawnSettings {
public:
    SpawnSettings();
    ~SpawnSettings();
    SpawnSettings(SpawnSettings const&) = delete;
    SpawnSettings& operator=(SpawnSettings const&) = delete;

    /// Blocks exactly these signals in the program.
    void block(sigset_t const& signals);
    /// Resets these signals to their default actions, even if this process ignores them.
    void handle_by_default(sigset_t const& signals);
    /// Makes the program the leader of a new process group, so that a signal to the group reaches its
    /// children.
    void in_own_group();
    /// Makes descriptor `theirs` of the program a duplicate of `ours`, which must be open until spawn().
    void connect(UniqueFd const& ours, int theirs);
    /// Connects standard input to /dev/null.
    void without_input();

    posix_spawn_file_actions_t const* actions() const { return &actions_; }
    posix_spawnattr_t const* attributes() const { return &attributes_; }

private:
    void set_flag(short flag);

    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

/// Starts argv[0], which is looked up in the PATH of this process (not of `environment`), and does not wait.
/// The caller must reap the process. codes::no_such_file if the program does not exist.
Result<pid_t> spawn(std::vector<std::string> const& argv, Environment const& environment,
                    SpawnSettings const& settings);

/// Returns a descriptor that is readable after the process has ended: a pidfd, or watch_exit_with_thread() if
/// the system has no pidfds. On failure it is empty and errno is set.
UniqueFd open_pidfd(pid_t pid);

/// The same without a pidfd: a thread waits for the end of the process. A process that is not a child of this
/// one has ended only when its parent has reaped it.
UniqueFd watch_exit_with_thread(pid_t pid);

/// Sends a signal to a process. `process` is the descriptor that open_pidfd(pid) has returned for it. If it
/// is a pidfd, the signal can't reach another process that was given the same number. If it is a descriptor
/// of watch_exit_with_thread(), or if the system has no pidfd_send_signal (Linux before 5.1) or forbids it,
/// the signal is sent by number, unless the process has ended. \return False if the process has ended or may
/// not be signalled; errno says which.
bool send_signal(UniqueFd const& process, pid_t pid, int signal);

}  // namespace det
