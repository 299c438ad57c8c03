#pragma once
#include <det/launch/supervisor/supervise.hpp>
#include <det/lifecycle/run_end.hpp>

#include "health_check.hpp"
#include "node_watch.hpp"
#include "run_plan.hpp"
#include "run_record.hpp"
#include "run_state_machine.hpp"

namespace det::launch::supervisor {

/// A run whose end the supervisor records.
struct EndedRun {
    RunPlan const& plan;
    RunRecord const& record;
    RunStateMachine const& machine;
    HealthVerdict const& health;                 // which of its nodes failed the health check
    std::vector<std::string> const& lost_hosts;  // its nodes that the network did not reach
    NodeWatch const* nodes;                      // nullptr: they were not watched over the network
    int exit_code;                     // of the first rank that failed, if it is known, else of the step
    std::uint64_t output_begin_bytes;  // srun's messages about this run begin here
    std::chrono::milliseconds step_duration;  // since srun was started
};

/// Collects the facts that determine why the run ended and what follows, from its files, the state machine,
/// Slurm's nodes, the log policies and srun's messages. `job`, `slurm_answered` and `search` are left to the
/// caller.
Result<lifecycle::RunFacts> gather_facts(BatchJob const& batch_job, SupervisorContext const& context,
                                         EndedRun const& run);

/// Whether Slurm has lost the node: "down+drain", "idle+fail", "mixed+not_responding". Pure.
bool has_slurm_lost(slurm::Node const& node);

/// Whether Slurm's signals reach every process of a step, so that a program gets them without the wrapper.
bool signals_reach_all(slurm::SlurmClient& slurm);

/// Size of a regular file; 0 for anything else, such as a pipe, which can't be read again.
std::uint64_t output_size_bytes(std::filesystem::path const& output);

}  // namespace det::launch::supervisor
