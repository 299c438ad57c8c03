#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace det::launch::supervisor {

/// What a past run of a trial shows of the steps of its job.
struct RunSteps {
    std::string job;  // in Slurm's form: "123_4"
    std::uint32_t restart_count = 0;
    std::uint32_t nodes = 1;
    bool is_lost = false;  // no end is recorded: its steps may still run on nodes without a network
};

/// The number of steps that a requeued job skips if its last run is lost, so that its next step gets a number
/// that no lost step has. Slurm numbers the steps of each incarnation of a job from 0. Counts one step for
/// each run and node (srun, and a remote command for each other node), the steps that the lost incarnation
/// itself has skipped, and 16 further ones: those that the program starts, and those of other trials that
/// share the job. An incarnation with more of these may meet a lost step of its number. Pure.
/// \param runs all runs of the trial, in order; the last one is lost
std::uint32_t count_steps_to_skip(std::span<RunSteps const> runs);

}  // namespace det::launch::supervisor
