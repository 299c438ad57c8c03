#pragma once

#include <chrono>
#include <list>
#include <sys/types.h>

#include "claims.hpp"
#include "lane.hpp"

namespace det::launch::supervisor {

/// The state of a job whose runs have all ended, or will be ended by Slurm.
struct JobFacts {
    bool has_begun = false;           // at least one run has started
    bool notice_received = false;     // Slurm has sent SIGTERM
    bool was_completing = false;      // the job was COMPLETING when Slurm was asked last
    bool is_preempted = false;        // Slurm preempts the job, or has requeued it
    pid_t slurmstepd = 0;             // find_batch_parent() at the start of this process
    std::chrono::seconds timeout{0};  // how long requests are repeated while slurmctld does not answer
};

/// Requeues the job if the outcome of one of its runs asks for that. Otherwise requeues and holds it if a run
/// asks for that, or if the user paused the trial before its first run. Otherwise lets the job end; unless
/// Slurm ends it, first removes garbage checkpoints and expired logs. Cancels a preempted job whose trials
/// have ended, because Slurm would start it again. A new job replaces a job that can't be requeued. Returns
/// 0, or the exit code of an error.
int finish_job(BatchJob const& batch_job, SupervisorContext const& context, Claims& claims,
               std::list<Lane>& lanes, JobFacts const& end);

}  // namespace det::launch::supervisor
