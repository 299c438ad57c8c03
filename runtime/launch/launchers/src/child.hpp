#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>

#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace det::launch::launchers {

enum class Group { own, ours };

/// A process that is killed if nobody waited for it, with its group where that is its own.
class Child {
public:
    /// mask: which signals are blocked in it.
    static Result<Child> start(std::vector<std::string> const& argv, Environment const& environment,
                               sigset_t const& mask, Group group);
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    ~Child();

    int pidfd() const { return pidfd_.get(); }  // readable once it has ended
    std::optional<int> poll_status();           // as waitpid has it
    void signal(int number);

private:
    Child(pid_t pid, UniqueFd pidfd, Group group) : pid_(pid), pidfd_(std::move(pidfd)), group_(group) {}

    pid_t pid_ = -1;
    UniqueFd pidfd_;
    Group group_;
    std::optional<int> status_;
};

/// Signals that are passed on: taken from the process as a descriptor, but for those that were blocked
/// before, as Slurm's notice is below det-wrap-rank.
class TakenSignals {
public:
    static Result<TakenSignals> take();
    TakenSignals(TakenSignals&&) noexcept = default;
    TakenSignals& operator=(TakenSignals&&) = delete;
    ~TakenSignals();  // they are as before
    int fd() const { return fd_.get(); }
    sigset_t const& mask_before() const { return before_; }
    /// Each signal that has come.
    std::vector<int> read();

private:
    TakenSignals(UniqueFd fd, sigset_t before) : fd_(std::move(fd)), before_(before) {}

    UniqueFd fd_;
    sigset_t before_;
};

}  // namespace det::launch::launchers
