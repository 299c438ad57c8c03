#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/supervisor/batch_job.hpp>
#include <det/slurm/client.hpp>

#include <functional>

namespace det::launch::supervisor {

/// The interfaces and paths that the supervisor works with.
struct SupervisorContext {
    slurm::SlurmClient& slurm;
    Clock& clock;
    Environment environment;
    std::filesystem::path wrap_rank;              // absolute path of det-wrap-rank
    std::function<void(std::string const&)> log;  // writes one line to Slurm's output file; thread-safe
    /// Ends this process: the shared file system has not answered for the time of DET_STORAGE_TIMEOUT_S (ten
    /// minutes), while a file of a run had to be read or written. Called on a thread, because the thread of
    /// the supervisor is blocked. If it returns, the supervisor waits on.
    std::function<void(Error const&)> end_process;
    std::filesystem::path output = "/proc/self/fd/2";  // Slurm's output file, also of srun's error messages
    /// The job's own output, to which a batch script writes; -1: the output of this process.
    int script_output = -1, script_errors = -1;
};

/// Runs the trials of this job, side by side where they share its node, until each of them has finished,
/// failed for good, was paused, or waits in the queue again. Blocks SIGTERM, SIGURG and SIGUSR2 in this
/// process. Returns the exit code of the batch script; codes::misuse if DET_STORAGE_TIMEOUT_S is no number of
/// seconds.
Result<int> supervise_trials(BatchJob const& batch_job, SupervisorContext const& context);

}  // namespace det::launch::supervisor
