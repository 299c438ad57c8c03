#pragma once
#include <det/launch/supervisor/batch_job.hpp>
#include <det/slurm/client.hpp>

#include <optional>
#include <string>

namespace det::launch::supervisor {

/// A job that a batch script has submitted to continue it: it runs the same script.
struct SuccessorJob {
    slurm::JobRef job;
    /// Whether a requeue of this job does the same: the successor waits, has the same arguments, and no
    /// variables of its own that the script names.
    bool is_replaceable = false;
};

/// The script that this job runs, and its arguments joined by blanks, as Slurm shows them.
struct OwnScript {
    std::string text, arguments;
};

/// Returns nullopt if the script is no copy of det-submit, so that it can't be compared.
std::optional<OwnScript> load_own_script(BatchJob const& batch_job);

/// Removes SLURM_OPEN_MODE, which srun reads too, if it comes from det-submit's --open-mode and not from the
/// script.
void remove_own_open_mode(Environment& environment, BatchJob const& batch_job);

/// Where processes of this job run.
struct JobPlace {
    std::string hosts;  // compressed
    pid_t session = 0;  // of the batch script
};

/// Whether the job runs the script too, and was submitted by a process of this job: in the session of the
/// batch script, or on one of the job's nodes. Pure.
bool is_successor(slurm::JobScript const& of_job, OwnScript const& own, JobPlace const& here);

/// Whether a requeue of this job does the same as the successor. Pure.
bool is_replaceable(slurm::JobStatus const& job, slurm::JobScript const& of_job, OwnScript const& own);

/// Finds the successor among the jobs of this user that were submitted since the run began.
Result<std::optional<SuccessorJob>> find_successor(BatchJob const& batch_job, UtcTime run_began,
                                                   slurm::SlurmClient& slurm);

}  // namespace det::launch::supervisor
