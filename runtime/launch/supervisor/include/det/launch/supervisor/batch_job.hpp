#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/lifecycle/run_end.hpp>
#include <det/protocol/desired_state.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/slurm/job.hpp>

#include <filesystem>
#include <string>
#include <sys/types.h>

namespace det::launch::supervisor {

/// The trials that this batch job runs, and the job's identity in Slurm.
struct BatchJob {
    ExperimentLayout experiment;
    ExperimentSpec spec;
    // The trial of the job's array task. If tasks claim trials, the job tries to claim this one first
    std::uint32_t first_trial = 0;
    slurm::JobRef job;
    lifecycle::Incarnation incarnation;
    std::string hosts;  // the job's nodes as a compressed host list, batch host first
    int cpus_per_node = 1;
    std::int64_t memory_per_node_mib = 0;  // 0: Slurm does not manage memory
    std::string cluster;
    std::string partition;
    pid_t batch_process = 0;        // of det-batch, the parent of this process; 0: the script has none
    bool is_started_again = false;  // det-batch has started this supervisor, because the first one was killed

    /// Whether a batch script of the user is the program: it runs in the batch step, and starts its own
    /// steps.
    bool is_script() const { return spec.launch == Launch::script; }
    int lanes() const { return static_cast<int>(spec.lanes); }
    /// Whether the trial's last run was recorded as the end of the trial.
    Result<bool> has_ended(std::uint32_t trial) const;
    /// The desired state of the experiment; `run` if it can't be read.
    DesiredState desired() const;
    /// The stricter one of the desired states of the experiment and of the trial.
    DesiredState desired(std::uint32_t trial) const;
};

/// Returns the rules of a program in a job. DET_TRUSTED_ANCESTORS has the directories that the site excepts.
TrustRules trust_rules(Environment const& environment);

/// Returns the text of spec.json on a node of a run. It comes with the run's variables unless it is too long
/// for one: the nodes of a large run would read the file all at once.
Result<std::string> load_spec_text(Environment const& environment);

/// Returns the trial of an array task. The tasks of a batch script with an array of its own have its numbers.
Result<std::uint32_t> trial_of_task(ExperimentSpec const& spec, std::uint32_t task);

/// Reads the arguments of `det-launch trial`, the experiment's specification, and the SLURM_* variables of
/// the batch job. codes::unsafe_owner if another user could have put the experiment, its code or its
/// checkpoints there; DET_TRUSTED_ANCESTORS names directories that the site excepts.
Result<BatchJob> load_batch_job(std::filesystem::path const& experiment, std::uint32_t task,
                                Environment const& environment);

/// Variables that det-batch sets. They are for the supervisor only.
inline constexpr char batch_process_variable[] = "DET_BATCH_PID";
inline constexpr char supervisor_restarts_variable[] = "DET_SUPERVISOR_RESTARTS";

/// The processors of a node, as the kernel counts them.
struct HostCpus {
    int cpus = 1;  // hardware threads
    int threads_per_core = 1;
};

/// The largest number of CPUs per node that a step may request. With --threads-per-core or
/// --hint=nomultithread, Slurm counts all hardware threads of the job's cores, but refuses a step that
/// requests more than the allowed threads. If the job shares the node, the result may be too large. Pure.
/// \param cpus number of CPUs per node, as Slurm counts them for the job
int step_cpus_max(int cpus, Environment const& job, HostCpus const& host);

}  // namespace det::launch::supervisor
