#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>

#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace det::slurm {

/// A running srun that writes to this process's output. The destructor kills and reaps srun unless it has
/// ended.
class StepProcess {
public:
    /// Starts srun with TERM, INT and HUP blocked: a notice to the job must not end the step before its
    /// ranks have saved their work. srun's standard input is a socket: see write_line().
    static Result<StepProcess> start(std::vector<std::string> const& argv, Environment const& environment);
    /// Starts srun with no signal blocked. srun gets INT when this process ends or is killed, and must end
    /// the step at the first INT (--quit-on-interrupt).
    static Result<StepProcess> start_with_pdeathsig(std::vector<std::string> const& argv,
                                                    Environment const& environment);

    /// Where a process of start_here() writes. Empty descriptors: to this process's output.
    struct Output {
        UniqueFd out, err;
    };
    /// Starts a program that stands for a step, in this one, with the signals blocked: it must take those
    /// that the caller sends, also if it has just been started. Its standard input is a socket: see
    /// write_line().
    static Result<StepProcess> start_here(std::vector<std::string> const& argv,
                                          Environment const& environment, sigset_t const& blocked,
                                          Output const& output);

    StepProcess(StepProcess&& other) noexcept;
    StepProcess& operator=(StepProcess&&) = delete;
    ~StepProcess();

    /// Readable when the process has ended, for poll(2).
    int pidfd() const { return pidfd_.get(); }
    /// The exit code of srun (128 + signal); empty while srun runs.
    std::optional<int> poll_exit();
    int wait();
    /// Writes a line to srun, which copies it to the standard input of all tasks of its step. Only for a step
    /// of start(). Does not block.
    Status write_line(std::string_view line);
    /// Ends the standard input of all tasks of the step. Only for a step of start().
    void close_input() { input_.reset(); }
    /// Sends a signal to srun, which forwards it to all tasks of its step. TERM makes srun end the step; but
    /// srun of Slurm 26.05 ignores a TERM that start() has blocked. KILL ends only srun.
    void signal(int number);

private:
    static Result<StepProcess> watch(pid_t pid);
    StepProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

    pid_t pid_ = -1;
    UniqueFd pidfd_;
    std::optional<int> exit_code_;
    UniqueFd input_;
};

}  // namespace det::slurm
