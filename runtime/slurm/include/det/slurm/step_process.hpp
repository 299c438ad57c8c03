#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace det::slurm {

/// A running srun. Its output is ours. Killed and reaped if nobody waited for it.
class StepProcess {
public:
    /// The process gets a signal mask with TERM, INT, HUP and USR2 blocked: a notice to the job must not end
    /// the step before its ranks have saved their work.
    static Result<StepProcess> start(std::vector<std::string> const& argv, Environment const& environment);
    /// The same, but the step ends when this process does, however it ends. For a srun that one INT ends.
    static Result<StepProcess> start_tied(std::vector<std::string> const& argv,
                                          Environment const& environment);

    StepProcess(StepProcess&& other) noexcept;
    StepProcess& operator=(StepProcess&&) = delete;
    ~StepProcess();

    /// Readable once the process has ended: for poll(2).
    int pidfd() const { return pidfd_.get(); }
    /// Its exit code (128 + signal) once it has ended.
    std::optional<int> poll_exit();
    int wait();
    /// srun forwards this to all tasks of its step.
    void signal(int number);

private:
    static Result<StepProcess> watch(pid_t pid);
    StepProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

    pid_t pid_ = -1;
    UniqueFd pidfd_;
    std::optional<int> exit_code_;
};

}  // namespace det::slurm
