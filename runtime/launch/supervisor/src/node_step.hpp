#pragma once
#include <det/launch/supervisor/supervise.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run_plan.hpp"

namespace det::launch::supervisor {

/// A step that starts before the run's own one, with one task of det-launch on each node of the run.
struct NodeStep {
    std::string name;                    // such as "health": Slurm shows the step as RUN.health
    std::vector<std::string> arguments;  // of det-launch
    Environment environment;             // that of the run, and what the tasks get besides
    std::chrono::seconds limit{0};
    bool has_gpus = false;  // the tasks see the GPUs of the run
};

struct NodeStepEnd {
    std::optional<int> exit_code;  // of srun; nullopt: the step had not ended, and was cancelled
    bool is_stopped = false;       // Slurm ends the job, or the user stops the run
};

/// Runs such a step. Blocks until it has ended, until its limit, or until the run must not start any more:
/// Slurm has signalled this process or, at the start of a grace period, the tasks only; or the user stops the
/// run.
/// \param is_stopped see wait_for_step()
/// \return an error if srun can't be started
Result<NodeStepEnd> run_node_step(BatchJob const& batch_job, RunPlan const& run,
                                  SupervisorContext const& context, NodeStep const& step,
                                  std::function<bool()> const& is_stopped);

/// What is returned of a run that must not start any more: codes::interrupted.
Error stopped_before_step(RunId run);

}  // namespace det::launch::supervisor
