#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/polling.hpp>

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace det::launch::launchers {

enum class Group { own, ours };

/// A child process. The destructor kills it unless it has ended, together with its process group if it has
/// its own.
class Child {
public:
    /// \param mask the signals that are blocked in the child.
    static Result<Child> start(std::vector<std::string> const& argv, Environment const& environment,
                               sigset_t const& mask, Group group);
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    ~Child();

    pid_t pid() const { return pid_; }
    int pidfd() const { return pidfd_.get(); }  // readable when it has ended
    std::optional<int> poll_wait_status();      // the status of waitpid(2)
    void signal(int number);

private:
    Child(pid_t pid, UniqueFd pidfd, Group group) : pid_(pid), pidfd_(std::move(pidfd)), group_(group) {}

    pid_t pid_ = -1;
    UniqueFd pidfd_;
    Group group_;
    std::optional<int> status_;
};

/// Opens a reader of the signals that are forwarded to children.
Result<SignalReader> open_forwarded_signals();

/// The signals by which a notice may reach the processes of a run: TERM, and those of slurm.forward_signals.
/// Empty outside of a supervised run.
std::vector<int> notice_signals(Environment const& environment);

}  // namespace det::launch::launchers
