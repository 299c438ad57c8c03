#pragma once
#include <det/foundation/result.hpp>

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

/// RANK, LOCAL_RANK, CROSS_RANK, WORLD_SIZE ... and MASTER_ADDR, for `launch: rank`.
Variables rank_variables(TaskIdentity const& task);

/// Names of the variables by which the stations of the road talk to each other.
namespace variables {
inline constexpr char root[] = "DET_ROOT";
inline constexpr char spank[] = "DET_SPANK";      // auto: the plugin acts on this job; off: it does not
inline constexpr char launch[] = "DET_LAUNCH";    // node | rank
inline constexpr char wrapped[] = "DET_WRAPPED";  // task_key of the task whose output is labelled already
inline constexpr char node_ready[] = "DET_NODE_READY";  // task_key of the task whose node is prepared already
inline constexpr char wrapped_command[] =
    "DET_SPANK_COMMAND";                            // argv[0] that the plugin put the wrapper in front of
inline constexpr char run_dir[] = "DET_RUN_DIR";    // node-local directory of the run
inline constexpr char run_key[] = "DET_RUN_KEY";    // names it: the same in every step of a run
inline constexpr char run_path[] = "DET_RUN_PATH";  // .../trials/3/runs/2 on the shared file system
inline constexpr char experiment_path[] = "DET_EXPERIMENT_PATH";
inline constexpr char rank_log[] = "DET_RANK_LOG";  // the node's log file
}  // namespace variables

}  // namespace det
