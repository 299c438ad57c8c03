#pragma once
#include <det/protocol/desired.hpp>
#include <det/protocol/record.hpp>
#include <det/slurm/job.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::lifecycle {

/// The incarnation of a job that a supervisor belongs to. slurmctld may have started another one meanwhile,
/// on other nodes, while this one was cut off.
struct Incarnation {
    std::uint32_t restart_count = 0;
    std::string batch_host;
};

/// Why a supervisor told its ranks to save their work and stop.
enum class Asked {
    nothing,
    user,        // to pause it, or to cancel it
    time_limit,  // Slurm's would have come soon
    neighbour,   // the job goes back to the queue for the sake of another trial in it
};

std::string_view to_string(Asked asked);

/// Nodes that a run suffered from, and whether the trial can go on without them.
struct BadNodes {
    std::vector<std::string> hosts = {};
    std::string why = {};              // "the log policy 'ECC Error'", "Slurm calls it down"
    bool is_enough_here = false;       // the allocation has nodes to spare
    bool is_enough_elsewhere = false;  // so has the partition
    bool is_failure_of_trial = true;   // counts against max_restarts
    bool may_come_back = false;        // worth waiting for where there are not enough others
};

/// Everything that a supervisor knows when its step has ended.
struct RunFacts {
    Incarnation incarnation;
    int step_exit_code = 0;                // 128 + signal
    bool preemption_acknowledged = false;  // by the chief, in its journal
    bool notice_received = false;          // TERM came to the supervisor itself
    Asked asked = Asked::nothing;
    bool was_killed = false;       // by the supervisor: it did not stop in time, or the user would not wait
    std::string silent_host = {};  // a node that was not heard of any more, so that the step was killed
    bool shares_node = false;      // with steps of other trials of the job
    std::string cancels_retries = {};  // the log policy whose pattern a line has; empty: none
    BadNodes bad_nodes = {};
    std::string refused_by_srun = {};             // its words where it has started no task at all
    bool has_begun_before = false;                // an earlier run of the trial has: Slurm can start it
    std::uint32_t failures_without_progress = 0;  // in a row before this run: no higher step was committed
    std::uint32_t slurm_failures_in_a_row = 0;    // runs before this one that ended by Slurm or its nodes
    bool has_progressed = false;                  // this run committed a higher step than those before
    Desired desired = Desired::run;
    bool slurm_answered = true;           // false: nobody can say what the job is doing
    std::optional<slurm::JobStatus> job;  // as Slurm shows it now; nothing where it is unknown there
    bool higher_run_exists = false;       // runs/N+1 is there: somebody else goes on with this trial
    std::uint32_t restarts = 0;           // failures before this run
    std::uint32_t restarts_max = 0;
};

/// Why the run ended and what follows.
struct RunVerdict {
    Cause cause;
    Follow follow;
    std::string message;  // one readable line
    std::vector<std::string> bad_hosts = {};
};

/// Pure: reads the facts in the order of DESIGN 4.5. An acknowledged preemption is never a failure; a
/// cancelled job is never resurrected; who is no longer the job's incarnation touches nothing. A trial that
/// fails again and again without getting any further is stopped before its restarts are used up.
RunVerdict judge_run_end(RunFacts const& facts);

/// Whether the job that Slurm shows is still this incarnation.
bool is_mine(Incarnation const& incarnation, slurm::JobStatus const& job);

}  // namespace det::lifecycle
