#pragma once
#include <set>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace det::launch::wrap_rank {

/// One process of the command's process tree, and what it does with a given signal.
struct ProcessView {
    enum class Reaction {
        none,  // it ignores the signal, or would be ended by it
        /// It blocks the signal, perhaps to read it by signalfd(2). /proc does not show this inside
        /// sigwait(3).
        blocked,
        caught,  // it has a handler
    };
    pid_t pid = 0, parent = 0;
    Reaction reaction = Reaction::none;
    bool is_rank = false;  // it has LOCAL_RANK or a similar variable
    std::string name = {};
    bool is_ours = false;  // one of det-submit's programs
};

struct Receivers {
    std::vector<pid_t> processes;
    bool are_ranks = false;
};

/// Which processes come first if several handle a notice.
enum class NoticeOrder {
    /// Ranks come before other processes, because a launcher that gets TERM ends its ranks.
    ranks_first,
    /// As Slurm signals a batch script: its first process alone, if that has a handler. Otherwise ranks, and
    /// then other processes, but none that has started ranks.
    first_process_first,
};

/// The processes that get a notice as a signal: the topmost process on each branch of the tree that handles
/// or blocks the signal, so that a shell in front of a program is not ended, and the workers of a data loader
/// do not see it. srun never gets the signal, because it would end the tasks of its step. Empty if no process
/// handles or blocks the signal. Pure.
Receivers choose_receivers(std::span<ProcessView const> processes, pid_t root,
                           NoticeOrder order = NoticeOrder::ranks_first);

/// The process tree of `root` as /proc shows it. det-submit's own processes have no reaction.
std::vector<ProcessView> read_process_tree(pid_t root, int signal);

/// The other steps of this wrapper's run.
struct OtherSteps {
    std::string run_key = {};   // DET_RUN_KEY of their tasks; empty: there are none
    std::string own_step = {};  // SLURM_STEP_ID of this wrapper's step
};

/// The processes that slurmstepd has started on this node as tasks of these steps.
std::vector<pid_t> find_tasks(OtherSteps const& steps);

/// Delivers a notice to a command, and to the tasks of other steps on this node, as signals. A process that
/// installs its handler later gets the signal then. A process that blocks the signal gets it at the second
/// call: it may be between fork(2) and execve(2), where shells block all signals for a moment.
class NoticeDelivery {
public:
    NoticeDelivery(pid_t root, std::vector<int> const& signals, OtherSteps other_steps = {},
                   NoticeOrder order = NoticeOrder::ranks_first);

    /// Sends the signals to the receivers that have not got them yet.
    void deliver();
    /// Whether deliver() may find another receiver later.
    bool is_pending() const;

private:
    struct Delivery {
        int signal = 0;
        std::set<pid_t> reached = {}, blocked_before = {};
        bool may_follow = true;
    };
    void deliver(Delivery& delivery);

    pid_t root_;
    OtherSteps other_steps_;
    NoticeOrder order_;
    std::vector<Delivery> deliveries_;
};

}  // namespace det::launch::wrap_rank
