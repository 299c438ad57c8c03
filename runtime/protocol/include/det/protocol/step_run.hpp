#pragma once
#include <det/protocol/launch.hpp>
#include <det/protocol/task_identity.hpp>

#include <cstdint>

namespace det {

// A step of a user's own script, as a run: what the plugin and the wrapper both know of it, so that a script
// is told the same with the plugin and without.

/// What a Slurm step is to us.
enum class StepKind {
    foreign,      // nobody asked for us, or what asks was inherited from a run in another job
    part_of_run,  // started by a supervisor, or by what runs in a run: DET_RUN_KEY names it
    own_run,      // of a script that asks with DET_SPANK=auto: a run of its own
};

StepKind find_step_kind(TaskIdentity const& task, VariableLookup const& lookup);

/// What a run leaves in the environment of jobs that are submitted from within it, and what would lead a step
/// that asks for a run of its own back to that one.
inline constexpr char const* inherited_variables[] = {
    variables::run_key,  variables::run_job,           variables::run_dir,
    variables::run_path, variables::experiment_path,   variables::rank_log,
    variables::placed,   variables::wrapped,           variables::experiment_id,
    variables::trial_id, variables::trial_run_id,      variables::trial_seed,
    variables::hparams,  variables::experiment_config, variables::steps_completed,
    variables::launch,   variables::latest_checkpoint, variables::unique_port_offset,
    "MASTER_PORT"};

/// What makes a step of a script a run: DET_RUN_KEY ..., and Determined's names for where it runs. Everything
/// that a supervisor tells its tasks and that is known here; peers are told compressed, nobody is asked.
Variables step_run_variables(TaskIdentity const& task, Launch launch, VariableLookup const& lookup);

/// Slots of this node: what CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES numbers, where that many are meant,
/// else 0, 1, ... `count` 0: as many as are visible, at least one.
std::vector<int> local_slots(VariableLookup const& lookup, int count);
/// "[0, 1]", as DET_SLOT_IDS has it.
std::string render_slot_ids(std::vector<int> const& slots);

/// The `attempt`-th port to try for MASTER_PORT: all nodes of a step get the same without talking to each
/// other. Below those that Linux gives out by itself, so that only a program that asks for this very port can
/// hold it.
std::uint16_t master_port(TaskIdentity const& task, VariableLookup const& lookup, unsigned attempt = 0);
std::uint16_t master_port(std::string_view run_key, unsigned attempt);

/// Before Slurm 23.11 the plugin can put a program in front of a task only by exchanging argv[0]; this is how
/// it spells the program's path, so that the program knows it from every other call:
/// "/opt/det/bin/./det-wrap-rank".
std::string spell_as_put_in_front(std::string const& program);
bool is_put_in_front(std::string_view argv0);

/// "123.0-1": job, step, restart. Names the run of a script's step.
std::string step_run_key(std::string_view job_id, std::string_view step_id, std::string_view restart_count);

}  // namespace det
