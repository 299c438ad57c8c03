#pragma once
#include <det/protocol/desired.hpp>
#include <det/protocol/record.hpp>
#include <det/slurm/job.hpp>

#include <optional>
#include <string>

namespace det::lifecycle {

/// The incarnation of a job that a supervisor belongs to. slurmctld may have started another one meanwhile,
/// on other nodes, while this one was cut off.
struct Incarnation {
    std::uint32_t restart_count = 0;
    std::string batch_host;
};

/// Everything that a supervisor knows when its step has ended.
struct RunFacts {
    Incarnation incarnation;
    int step_exit_code = 0;                // 128 + signal
    bool preemption_acknowledged = false;  // by the chief, in its journal
    bool notice_received = false;          // TERM came to the supervisor itself
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
};

/// Pure: reads the facts in the order of DESIGN 4.5. An acknowledged preemption is never a failure; a
/// cancelled job is never resurrected; who is no longer the job's incarnation touches nothing.
RunVerdict judge_run_end(RunFacts const& facts);

/// Whether the job that Slurm shows is still this incarnation.
bool is_mine(Incarnation const& incarnation, slurm::JobStatus const& job);

}  // namespace det::lifecycle
