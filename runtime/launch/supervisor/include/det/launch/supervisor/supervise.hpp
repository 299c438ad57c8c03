#pragma once
#include <det/foundation/clock.hpp>
#include <det/launch/supervisor/assignment.hpp>
#include <det/slurm/client.hpp>

#include <functional>

namespace det::launch::supervisor {

/// What the supervisor stands on.
struct Surroundings {
    slurm::SlurmClient& slurm;
    Clock& clock;
    Environment environment;
    std::filesystem::path wrap_rank;                   // det-wrap-rank, absolute
    std::function<void(std::string const&)> say;       // one line for Slurm's output file
    std::filesystem::path output = "/proc/self/fd/2";  // that file, where srun says what is wrong
};

/// Runs the trials of this job, side by side where they share its node, to ends that this allocation can give
/// them: finished, failed for good, or given back to Slurm. Blocks TERM and USR2. The exit code is that of
/// the batch script.
Result<int> supervise_trials(Assignment const& assignment, Surroundings const& surroundings);

}  // namespace det::launch::supervisor
