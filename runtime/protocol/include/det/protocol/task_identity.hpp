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

/// How an environment variable is looked up: from the process, or from slurmstepd through SPANK.
using VariableLookup = std::function<std::optional<std::string>(std::string_view)>;

/// Who a task of a Slurm step is and who its peers are: the same for the plugin and for the wrapper.
struct TaskIdentity {
    std::string job_id;  // the job's own number, as SLURM_JOB_ID has it
    std::string step_id;
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    int local_size = 1;
    int cross_rank = 0;  // which node of the step
    int cross_size = 1;
    std::string hosts;           // of the step, compressed; node order
    std::string tasks_per_node;  // Slurm's "4(x2),3"
    std::string chief_host;
    friend bool operator==(TaskIdentity const&, TaskIdentity const&) = default;
};

/// From SLURM_* as a task sees them; an Error where they are absent or contradict each other.
Result<TaskIdentity> identify_task(VariableLookup const& lookup);

/// "123.0.5": names this task among all; what DET_WRAPPED is compared with.
std::string task_key(TaskIdentity const& task);

using Variables = std::vector<std::pair<std::string, std::string>>;

/// How long a node of a run may be silent, by that variable; at least 4 s.
std::chrono::seconds silence_limit(VariableLookup const& lookup);

/// RANK, LOCAL_RANK, CROSS_RANK, WORLD_SIZE ... and MASTER_ADDR, for `launch: rank`.
Variables rank_variables(TaskIdentity const& task);

/// Names of the variables by which the stations of the road talk to each other.
namespace variables {
inline constexpr char root[] = "DET_ROOT";
/// "auto": plugin and wrapper act on the steps of this job; anything else: they do not.
inline constexpr char spank[] = "DET_SPANK";
/// Launch: node | rank.
inline constexpr char launch[] = "DET_LAUNCH";
/// task_key of the task that has its place on the node.
inline constexpr char placed[] = "DET_PLACED";
/// task_key of the task whose output is labelled.
inline constexpr char wrapped[] = "DET_WRAPPED";
/// argv[0] that the plugin put the wrapper in front of.
inline constexpr char wrapped_command[] = "DET_SPANK_COMMAND";
/// The run's directory on this node.
inline constexpr char run_dir[] = "DET_RUN_DIR";
/// Names the run, the same in every step of it. Where it is set, a task belongs to a run of ours.
inline constexpr char run_key[] = "DET_RUN_KEY";
/// SLURM_JOB_ID of the job that the run is in: in another job its variables were inherited, and mean nothing.
inline constexpr char run_job[] = "DET_RUN_JOB";
/// Where directories of a node go; else TMPDIR, else /tmp.
inline constexpr char local_dir[] = "DET_LOCAL_DIR";
/// The nodes of the run, compressed, in rank order.
inline constexpr char run_hosts[] = "DET_RUN_HOSTS";
/// .../experiments/7/trials/3/runs/2 on the shared file system.
inline constexpr char run_path[] = "DET_RUN_PATH";
/// Where libraries of ours lie that a program opens while it runs.
inline constexpr char modules[] = "DET_MODULES";
/// .../experiments/7
inline constexpr char experiment_path[] = "DET_EXPERIMENT_PATH";
/// Seconds until a node that is not heard of counts as lost; absent: 120. All of a run have the same.
inline constexpr char silence[] = "DET_SILENCE_S";
/// The directory of the checkpoint that the run goes on from, where all nodes see it: wrappers read it ahead.
inline constexpr char read_ahead[] = "DET_READ_AHEAD";
/// Signals that ranks get as well, "TERM,USR1"; others stop at the wrapper.
inline constexpr char forward_signals[] = "DET_FORWARD_SIGNALS";
/// Slots of each node of the run, "4(x2),3"; absent: as many as this one has.
inline constexpr char slot_counts[] = "DET_SLOT_COUNTS";
/// The log file of this node.
inline constexpr char rank_log[] = "DET_RANK_LOG";

// Determined's own:
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
inline constexpr char experiment_config[] = "DET_EXPERIMENT_CONFIG";
inline constexpr char unique_port_offset[] = "DET_UNIQUE_PORT_OFFSET";
inline constexpr char inter_node_network_interface[] = "DET_INTER_NODE_NETWORK_INTERFACE";
}  // namespace variables

}  // namespace det
