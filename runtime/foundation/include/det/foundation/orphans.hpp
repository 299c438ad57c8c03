#pragma once
#include <chrono>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace det {

/// The descendants of this process whose own parents have ended. From the construction on, this process
/// becomes their parent, and must call reap() when it gets SIGCHLD.
class Orphans {
public:
    /// Children that this process has started before are no orphans.
    Orphans();

    /// Marks a child that this process has started itself.
    void exclude(pid_t child) { own_.push_back(child); }
    /// Takes the exit codes of the orphans that have ended.
    /// \return whether others still run
    bool reap();
    /// The orphans that have not been reaped.
    std::vector<pid_t> list() const;
    /// How a command has ended that Slurm's notice, a TERM for every process, may have ended. A command that
    /// TERM has ended may leave descendants that save their work: then it ends when the last of them has
    /// ended, like the first that failed, else like those that ended with 0.
    ///
    /// \param command the command's status of waitpid(2)
    /// \return a status of waitpid(2); nullopt: descendants still run
    std::optional<int> end_after_notice(int command);
    /// Slurm signals one process after the other: for this time after the end of a command, the notice to
    /// this process may still come.
    static constexpr std::chrono::seconds notice_delay_max{1};

private:
    std::vector<pid_t> own_;
    std::optional<int> failed_, succeeded_;
};

}  // namespace det
