#pragma once
#include <det/foundation/clock.hpp>
#include <det/slurm/client.hpp>
#include <det/supervisor/assignment.hpp>

#include <functional>

namespace det::supervisor {

/// What the supervisor stands on.
struct Surroundings {
    slurm::SlurmClient& slurm;
    Clock& clock;
    Environment environment;
    std::filesystem::path wrap_rank;              // det-wrap-rank, absolute
    std::function<void(std::string const&)> say;  // one line for Slurm's output file
};

/// Runs a trial in this allocation to an end that this allocation can give it: finished, failed for good, or
/// given back to Slurm. Blocks TERM. The exit code is that of the batch script.
Result<int> supervise_trial(Assignment const& assignment, Surroundings const& surroundings);

}  // namespace det::supervisor
