#pragma once
#include <det/foundation/result.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace det {

/// Looks up an environment variable: in the process, or in the job through SPANK.
using VariableLookup = std::function<std::optional<std::string>(std::string_view)>;

/// The position of a task in its Slurm step, and its peers. The plugin and the wrapper compute the same
/// values.
struct TaskIdentity {
    std::string job_id;  // SLURM_JOB_ID
    std::string step_id;
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    int local_size = 1;
    int cross_rank = 0;  // index of the node in the step
    int cross_size = 1;
    std::string hosts;           // of the step, compressed, in node order
    std::string tasks_per_node;  // Slurm's "4(x2),3"
    std::string chief_host;      // the node of rank 0
    friend bool operator==(TaskIdentity const&, TaskIdentity const&) = default;
};

/// Reads the SLURM_* variables of a task. codes::not_in_slurm if one is missing, codes::slurm_output if they
/// are malformed or contradict each other. Rank 0 is on the node that DET_STEP_CHIEF names, and
/// without it on the first node of Slurm's list. Slurm may place rank 0 on another one
/// (--distribution=arbitrary, topologies of Slurm 26.05); then the chief's node is the first of `hosts`, with
/// cross_rank 0, and the others follow in Slurm's order.
Result<TaskIdentity> identify_task(VariableLookup const& lookup);

/// The batch script of a job as a task: the only one of the step "batch", on its node. The hosts are those of
/// the run (DET_RUN_HOSTS), else those of the job.
Result<TaskIdentity> identify_batch_script(VariableLookup const& lookup);

/// The value of DET_STEP_CHIEF: "JOB.STEP HOST". In the environment of another step it means nothing.
std::string render_step_chief(std::string_view job_id, std::string_view step_id, std::string_view host);

/// The unique key of a task, like "123.0.5". DET_WRAPPED contains it.
std::string task_key(TaskIdentity const& task);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The value of DET_SILENCE_S, from 4 s to a day; 120 s if it is not set or no number.
std::chrono::seconds silence_limit(VariableLookup const& lookup);

/// The variables of one rank as torchrun and deepspeed set them: RANK, LOCAL_RANK, CROSS_RANK, WORLD_SIZE ...
/// and MASTER_ADDR. For a rank that Slurm starts (`slurm: {launch: rank}`) or one of our launchers.
/// \param host_suffix as in add_host_suffix(), for MASTER_ADDR
Variables rank_variables(TaskIdentity const& task, std::string_view host_suffix = {});

/// Names of the environment variables that batch script, supervisor, plugin, wrapper and ranks exchange.
namespace variables {
inline constexpr char root[] = "DET_ROOT";
/// "auto": plugin and wrapper handle the steps of this job. Otherwise they do not.
inline constexpr char spank[] = "DET_SPANK";
/// The Launch mode: node | rank.
inline constexpr char launch[] = "DET_LAUNCH";
/// task_key of the task that has entered DET_RUN_DIR.
inline constexpr char placed[] = "DET_PLACED";
/// task_key of the task whose output is labelled.
inline constexpr char wrapped[] = "DET_WRAPPED";
/// The streams of a task whose lines get labels: "stdout,stderr" (the default), "stdout", "stderr" or "none".
inline constexpr char labels[] = "DET_LABELS";
/// The node of rank 0 of a step: see render_step_chief.
inline constexpr char step_chief[] = "DET_STEP_CHIEF";
/// The files to which the batch script of a job writes: see render_job_output.
inline constexpr char job_output[] = "DET_JOB_OUTPUT";
/// The argv[0] that the plugin has replaced by the wrapper.
inline constexpr char wrapped_command[] = "DET_SPANK_COMMAND";
/// The node-local directory of the run.
inline constexpr char run_dir[] = "DET_RUN_DIR";
/// The key of the run, the same in all of its steps. If it is set, and DET_RUN_JOB is this job, the task
/// belongs to a run.
inline constexpr char run_key[] = "DET_RUN_KEY";
/// SLURM_JOB_ID of the job of the run. In another job the variables of the run are inherited and are ignored.
inline constexpr char run_job[] = "DET_RUN_JOB";
/// SLURM_JOB_NAME of the job of the run. srun sets SLURM_JOB_NAME to the name of the step, which differs in
/// each run.
inline constexpr char job_name[] = "DET_JOB_NAME";
/// Parent of node-local directories; default TMPDIR, else /tmp.
inline constexpr char local_dir[] = "DET_LOCAL_DIR";
/// A random part of the name of this user's node-local directory, for a node where another user has taken the
/// usual name.
inline constexpr char local_suffix[] = "DET_LOCAL_SUFFIX";
/// The nodes of the run, compressed, in rank order.
inline constexpr char run_hosts[] = "DET_RUN_HOSTS";
/// The directory of the run on the shared file system: .../experiments/7/trials/3/runs/2.
inline constexpr char run_path[] = "DET_RUN_PATH";
/// The directory of the libraries that programs load at run time, for example det_ucx.so.
inline constexpr char modules[] = "DET_MODULES";
/// The directory of the experiment: .../experiments/7.
inline constexpr char experiment_path[] = "DET_EXPERIMENT_PATH";
/// Seconds after which a node that is watched by its heartbeat file counts as lost; default 120. The same on
/// all nodes of a run.
inline constexpr char silence[] = "DET_SILENCE_S";
/// The shared directory of the checkpoint from which the run resumes; the wrappers read its files into the
/// page cache.
inline constexpr char read_ahead[] = "DET_READ_AHEAD";
/// Signals by which the wrapper delivers a notice to the program, like "TERM,USR1".
inline constexpr char forward_signals[] = "DET_FORWARD_SIGNALS";
/// The directory of the trial's own files on the shared file system. It survives the runs of the trial.
inline constexpr char trial_dir[] = "DET_TRIAL_DIR";
/// "1": the run has lines of slurm.setup, which every task loads before its command.
inline constexpr char setup[] = "DET_SETUP";
/// "1": Slurm sends its signals to every process of a step, not only to the wrappers.
inline constexpr char signals_reach_all[] = "DET_SIGNALS_REACH_ALL";
/// "1": the standard input of the step's tasks carries requests of the supervisor (step_requests.hpp). Only
/// the first wrapper of a task sees the variable.
inline constexpr char step_requests[] = "DET_STEP_REQUESTS";
/// The file that a program creates when it has finished its work.
inline constexpr char done_file[] = "DET_DONE_FILE";
/// The ports of the run, as JSON: {"http": 8080}. Each is also in DET_PORT_<NAME>.
inline constexpr char ports[] = "DET_PORTS";
/// The experiment's cache of compiled kernels. The supervisor sets its name; the wrapper replaces the name by
/// the path of the directory on its node.
inline constexpr char compile_cache[] = "DET_COMPILE_CACHE";
/// Slots of each node of the run, like "4(x2),3"; default: all nodes have as many as this one.
inline constexpr char slot_counts[] = "DET_SLOT_COUNTS";
/// Set if the experiment's configuration has `profiling: {enabled: true}`: nodes sample their system metrics.
inline constexpr char profiling[] = "DET_PROFILING";
/// "1": `slurm: {log_wandb: true}`, so that the first directory of PYTHONPATH has det-submit's module wandb.
inline constexpr char log_wandb[] = "DET_LOG_WANDB";
/// "1": `slurm: {log_mlflow: true}`, so that MLFLOW_TRACKING_URI names det-submit's store.
inline constexpr char log_mlflow[] = "DET_LOG_MLFLOW";
/// The value of MLFLOW_TRACKING_URI with slurm.log_mlflow. MLflow finds the store by the scheme, which an
/// installed entry point declares.
inline constexpr char mlflow_store[] = "det-submit://trial";
/// Where the nodes of a run find its supervisor: see transport/node_monitor.hpp. Absent: they are watched by
/// their heartbeat files only.
inline constexpr char node_monitor[] = "DET_NODE_MONITOR";
/// Where programs find an interpreter that waits, NAME:DIRECTORY (slurm.warm_start): see
/// launchers/warm_start.hpp.
inline constexpr char warm_start[] = "DET_WARM_START";
/// Set if slurm.hang_timeout is set: nodes then show whether collective operations of their ranks make
/// progress, with their beats, or in their heartbeat files.
inline constexpr char shows_activity[] = "DET_SHOWS_ACTIVITY";
/// Set if slurm.idle_timeout is set: over how many milliseconds nodes average the use of their GPUs or CPUs.
inline constexpr char usage_window[] = "DET_USAGE_WINDOW_MS";
/// The log file of this node.
inline constexpr char rank_log[] = "DET_RANK_LOG";

/// The text of spec.json, which comes with srun's launch message, so that a node need not read the file.
/// Not in the environment of ranks. Absent if it is too long for a variable.
inline constexpr char spec[] = "DET_SPEC";

/// SHA-256 of the manifest of the checkpoint in DET_LATEST_CHECKPOINT, as the journal has recorded it.
inline constexpr char latest_checkpoint_sha256[] = "DET_LATEST_CHECKPOINT_SHA256";

// Names that Determined defines:
inline constexpr char experiment_id[] = "DET_EXPERIMENT_ID";
inline constexpr char trial_id[] = "DET_TRIAL_ID";
inline constexpr char trial_run_id[] = "DET_TRIAL_RUN_ID";
inline constexpr char trial_seed[] = "DET_TRIAL_SEED";
inline constexpr char steps_completed[] = "DET_STEPS_COMPLETED";
inline constexpr char latest_checkpoint[] = "DET_LATEST_CHECKPOINT";
inline constexpr char cluster_id[] = "DET_CLUSTER_ID";
inline constexpr char task_id[] = "DET_TASK_ID";
inline constexpr char allocation_id[] = "DET_ALLOCATION_ID";
inline constexpr char task_type[] = "DET_TASK_TYPE";
inline constexpr char slot_ids[] = "DET_SLOT_IDS";
inline constexpr char slot_type[] = "DET_SLOT_TYPE";
inline constexpr char chief_ip[] = "DET_CHIEF_IP";
inline constexpr char agent_id[] = "DET_AGENT_ID";
inline constexpr char user[] = "DET_USER";
inline constexpr char hparams[] = "DET_HPARAMS";
/// How far the sampler of the search lets the trial train, in the unit of the searcher.
inline constexpr char training_length[] = "DET_TRAINING_LENGTH";
/// Where a sampler may keep files; set in its process only.
inline constexpr char sampler_directory[] = "DET_SAMPLER_DIR";
inline constexpr char experiment_config[] = "DET_EXPERIMENT_CONFIG";
inline constexpr char unique_port_offset[] = "DET_UNIQUE_PORT_OFFSET";
inline constexpr char inter_node_network_interface[] = "DET_INTER_NODE_NETWORK_INTERFACE";
/// What the names of nodes get where ranks connect to each other: see add_host_suffix().
inline constexpr char host_suffix[] = "DET_HOST_SUFFIX";
}  // namespace variables

}  // namespace det
