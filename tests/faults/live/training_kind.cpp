#include "training_kind.hpp"

#include <fmt/format.h>

namespace det::faults {
namespace {

// {0}: name, {1}: directory of the tests' programs, {2}: trace file, {3}: hosts of other trainings, {4}:
// steps
constexpr std::string_view cpp_config = R"(name: {0}
entrypoint: [{1}/faults_cluster_worker, {0}, {2}, "{4}"]
searcher: {{name: single, metric: loss}}
resources: {{slots_per_trial: 2}}
max_restarts: 10
checkpoint_storage: {{save_trial_latest: 1000}}
slurm:
  launch: rank
  mpi: none
  sbatch_args: ['--exclude={3}']
)";
constexpr std::string_view ddp_config = R"(name: {0}
entrypoint: python3 -m determined.launch.torch_distributed python3 ddp_steps.py
hyperparameters: {{steps: {4}, pause_s: 0.03}}
searcher: {{name: single, metric: loss}}
resources: {{slots_per_trial: 2}}
reproducibility: {{experiment_seed: 5}}
max_restarts: 10
checkpoint_storage: {{save_trial_latest: 1000}}
slurm:
  slots_per_node: 1
  mpi: none
  sbatch_args: ['--exclude={3}']
)";
// A checkpoint each 100 steps, so that steps are trained again after it.
constexpr std::string_view plain_config = R"(name: {0}
entrypoint: python3 -m determined.launch.torch_distributed python3 ddp_steps.py
hyperparameters: {{steps: {4}, pause_s: 0.03, period: 100}}
searcher: {{name: single, metric: loss}}
resources: {{slots_per_trial: 2}}
reproducibility: {{experiment_seed: 5}}
max_restarts: 10
checkpoint_storage: {{save_trial_latest: 1000}}
slurm:
  slots_per_node: 1
  mpi: none
  sbatch_args: ['--exclude={3}']
)";
constexpr std::string_view steady_config = R"(name: {0}
entrypoint: python3 -m determined.launch.torch_distributed python3 ddp_steps.py
hyperparameters: {{steps: {4}, pause_s: 0.03, period: 100}}
searcher: {{name: single, metric: loss}}
resources: {{slots_per_trial: 2}}
reproducibility: {{experiment_seed: 5}}
max_restarts: 10
checkpoint_storage: {{save_trial_latest: 1000}}
slurm:
  slots_per_node: 1
  mpi: none
  spare_nodes: 1
  memory_checkpoints: {{every: 10}}
  sbatch_args: ['--exclude={3}']
)";
constexpr std::string_view trial_config = R"(name: {0}
entrypoint: python3 -m determined.launch.torch_distributed --trial pytorch_trial:InterruptedTrial
hyperparameters: {{global_batch_size: 16, hidden: 32, samples: 1000, pause_s: 0.02}}
searcher: {{name: single, metric: validation_loss, max_length: {{batches: {4}}}}}
scheduling_unit: 10
min_checkpoint_period: {{batches: 20}}
min_validation_period: {{batches: 50}}
resources: {{slots_per_trial: 2}}
reproducibility: {{experiment_seed: 5}}
max_restarts: 10
checkpoint_storage: {{save_trial_latest: 1000}}
slurm:
  slots_per_node: 1
  mpi: none
  sbatch_args: ['--exclude={3}']
)";
constexpr std::string_view search_config = R"(name: {0}
entrypoint: python3 learning_curve.py
hyperparameters:
  floor: {{type: double, minval: 0, maxval: 1}}
  epoch_seconds: 0.4
searcher: {{name: adaptive_asha, metric: loss, max_trials: 4, mode: standard, max_concurrent_trials: 2,
  max_length: {4}, divisor: 3, max_rungs: 2}}
resources: {{slots_per_trial: 1}}
reproducibility: {{experiment_seed: 7}}
max_restarts: 10
checkpoint_storage: {{save_trial_latest: 1000}}
slurm:
  trials_per_node: 1
  mpi: none
  sbatch_args: ['--exclude={3}']
)";
// The options of the experiment are arguments of `experiment create`: the script is one for sbatch alone.
constexpr std::string_view script = R"(#!/bin/bash
#SBATCH --job-name={0}
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclude={3}
#SBATCH --output=out-%j
set -euo pipefail
cd "$SLURM_SUBMIT_DIR"
srun --kill-on-bad-exit=1 python3 plain_steps.py {4} {2}
)";

constexpr TrainingKind kinds[] = {
    {"cpp", "", cpp_config, 400, 1, "training"},
    {"ddp", "tests/faults/live/ddp_steps.py", ddp_config, 200, 1, "training"},
    {"pytorch-trial", "tests/cluster/programs/pytorch_trial.py", trial_config, 300, 50, "validation"},
    {"asha", "tests/cluster/programs/learning_curve.py", search_config, 9, 1, "validation", 4, false, true},
    {"batch-script", "tests/faults/live/plain_steps.py", script, 240, 1, "", 1, true},
};

constexpr TrainingKind kinds_of_costs[] = {
    {"ddp-plain", "tests/faults/live/ddp_steps.py", plain_config, 300, 1, "training"},
    {"ddp-steady", "tests/faults/live/ddp_steps.py", steady_config, 300, 1, "training"},
};

}  // namespace

std::span<TrainingKind const> training_kinds() { return kinds; }
std::span<TrainingKind const> cost_kinds() { return kinds_of_costs; }

std::string render_config(TrainingKind const& kind, ConfigPlaces const& places) {
    return fmt::format(fmt::runtime(kind.config), places.name, places.programs, places.trace,
                       places.excluded_hosts, kind.steps);
}

}  // namespace det::faults
