#pragma once
#include <det/foundation/clock.hpp>
#include <det/slurm/step_process.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace det::launch::supervisor {

/// What is known about the Slurm steps of a past run of a trial.
struct RunSlurmSteps {
    std::string job;  // in Slurm's form: "123_4"
    std::uint32_t restart_count = 0;
    std::uint32_t nodes = 1;
    bool is_lost = false;  // its steps may still run on nodes without a network
};

/// The number of steps that a requeued job must skip after a lost run, so that its next step gets a number
/// that no lost step has. Slurm numbers the steps of each incarnation of a job from 0. Counts for each run a
/// health check, a step of slurm.warm_start, the run's step and a remote command for each other node. Adds
/// the steps that the lost incarnation has skipped, and 16 for steps of the program and of other trials in
/// the job. If there were more of these, a step may get the number of a lost step. Pure.
///
/// \param runs all runs of the trial, in order; the last one is lost
std::uint32_t count_step_ids_to_skip(std::span<RunSlurmSteps const> runs);

enum class SkipEnd { all_skipped, not_started, out_of_time, signalled };

/// Starts a step that ends by itself at once.
using StartStep = std::function<Result<slurm::StepProcess>()>;

/// Starts steps and waits until they have ended, 16 at a time, so that the next step of this job gets a
/// number that an earlier incarnation has not used. After a network partition, srun and the PMIx plugin of
/// the lost run reach slurmctld again and end their steps; slurmctld knows steps by job and number only and
/// would end the new run's step. \return all_skipped after `count` steps; out_of_time after a minute;
/// signalled when Slurm has sent the notice, a SIGTERM that the caller has blocked and that stays pending;
/// not_started if a step could not be started. Steps that still run at an early end are killed.
SkipEnd skip_step_ids(std::uint32_t count, StartStep const& start, Clock const& clock);

/// Why not all steps were skipped: "Slurm is too slow".
std::string_view describe(SkipEnd end);

}  // namespace det::launch::supervisor
