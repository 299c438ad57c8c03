#pragma once
#include <det/protocol/launch_options.hpp>
#include <det/protocol/task_identity.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det {

// det-submit treats a step of a user's own batch script as a run. The plugin and the wrapper share this code,
// so that the step gets the same variables from both.

/// The relation of a Slurm step to the runs of det-submit.
enum class StepKind {
    foreign,      // no run: DET_SPANK is not "auto", or the variables are inherited from a run of another job
    part_of_run,  // a supervisor or a rank of a run started it: DET_RUN_KEY names the run
    own_run,      // a step of a user's script with DET_SPANK=auto: a separate run
};

StepKind find_step_kind(TaskIdentity const& task, VariableLookup const& lookup);

/// Variables of a run, which a job inherits if it is submitted from within the run. A step that is a run of
/// its own must not have them.
inline constexpr char const* inherited_variables[] = {variables::run_key,
                                                      variables::run_job,
                                                      variables::run_dir,
                                                      variables::run_path,
                                                      variables::experiment_path,
                                                      variables::rank_log,
                                                      variables::placed,
                                                      variables::wrapped,
                                                      variables::experiment_id,
                                                      variables::labels,
                                                      variables::trial_id,
                                                      variables::trial_run_id,
                                                      variables::trial_seed,
                                                      variables::hparams,
                                                      variables::training_length,
                                                      variables::experiment_config,
                                                      variables::steps_completed,
                                                      variables::launch,
                                                      variables::latest_checkpoint,
                                                      variables::latest_checkpoint_sha256,
                                                      variables::unique_port_offset,
                                                      "RANK",
                                                      "WORLD_SIZE",
                                                      "LOCAL_RANK",
                                                      "LOCAL_WORLD_SIZE",
                                                      "LOCAL_SIZE",
                                                      "CROSS_RANK",
                                                      "CROSS_SIZE",
                                                      "GROUP_RANK",
                                                      "GROUP_WORLD_SIZE",
                                                      "MASTER_ADDR",
                                                      "MASTER_PORT"};

/// Which of rank_variables() and MASTER_PORT the ranks of a script's step get.
enum class RankVariables {
    missing,  // those that the script has not set; under submitit none that its program exports itself
    all,      // all, but for a MASTER_PORT that is set
};

/// Whether a step whose ranks srun starts gets this variable. Pure.
bool gets_rank_variable(std::string_view name, RankVariables which, VariableLookup const& lookup);

/// The variables that make a step of a script a run: DET_RUN_KEY and others, and those that Determined
/// defines. They are those variables of a supervised run whose values are known in the step. The host list is
/// compressed, and no name is resolved.
Variables step_run_variables(TaskIdentity const& task, Launch launch, VariableLookup const& lookup,
                             RankVariables which = RankVariables::missing);

/// The variables of a rank in a step that belongs to a run, which has set all others. With `launch: rank` all
/// of rank_variables(); in a step of a batch script (`launch: script`) those that the script has not set, and
/// MASTER_PORT. None with `launch: node`.
Variables rank_variables_in_run(TaskIdentity const& task, VariableLookup const& lookup);

/// The slot ids of this node: the numbers in CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES if there are
/// `count` of them, else 0, 1, ... If `count` is 0, it is the number of visible devices, at least one.
std::vector<int> local_slots(VariableLookup const& lookup, int count);
/// Renders the JSON array for DET_SLOT_IDS: "[0, 1]".
std::string render_slot_ids_json(std::vector<int> const& slots);

/// A port for MASTER_PORT. If it is taken, the caller tries the next attempt. All nodes of a step compute the
/// same ports without communication. They are below Linux's ephemeral ports, so only a program that binds
/// exactly this port can use it.
std::uint16_t master_port(TaskIdentity const& task, VariableLookup const& lookup, unsigned attempt = 0);
std::uint16_t master_port(std::string_view run_key, unsigned attempt);

/// Before Slurm 23.11 the plugin can only replace argv[0] of a task. It then spells the path of the wrapper
/// as "/opt/det/bin/./det-wrap-rank", so that the wrapper can distinguish this call from a call by the user.
std::string wrapper_argv0(std::string const& program);
bool is_wrapper_argv0(std::string_view argv0);

/// The streams of a task whose lines get labels.
struct LabelledStreams {
    bool out = true;
    bool err = true;
    friend bool operator==(LabelledStreams const&, LabelledStreams const&) = default;
};

/// The value of DET_LABELS.
std::string to_string(LabelledStreams streams);
/// Parses the value of DET_LABELS. Every text but those of to_string() means both streams.
LabelledStreams parse_labelled_streams(std::string_view text);

/// The identifier of a run that is one srun step of a user's own batch script: JOB.STEP-RESTARTS, for example
/// "123.0-1".
std::string step_run_key(std::string_view job_id, std::string_view step_id, std::string_view restart_count);

/// The MIG instance for a rank, if CUDA_VISIBLE_DEVICES names several MIG instances: a process can use only
/// the first instance that it sees. nullopt if the devices are not several MIG instances. Pure.
std::optional<std::string> own_mig_instance(std::string_view visible_devices, int local_rank);

}  // namespace det
