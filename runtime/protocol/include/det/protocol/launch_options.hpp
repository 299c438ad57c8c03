#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// How the ranks of a trial are started.
enum class Launch {
    node,    // the entrypoint runs once per node and starts the ranks, as in Determined
    rank,    // srun starts one task per slot
    script,  // a batch script runs once, on the first node, and starts its own steps
};

/// The value of slurm.mpi with which srun gets no --mpi, so that MpiDefault of slurm.conf acts.
inline constexpr std::string_view mpi_of_slurm = "default";

enum class SlotType { cpu, cuda, rocm, xpu };

/// The action for the next run of a trial when a log line matches a policy.
enum class LogAction {
    cancel_retries,
    exclude_node,
    label,  // of a policy without an action: only the message about the run's end names the policy
};

/// Where the entrypoint of a trial runs.
enum class WorkingDirectory {
    node_local,  // in a copy of the code that each node has for each run
    shared,      // in a copy of the code that all nodes and runs of the trial share
};

/// Values of the section `slurm` that jobs use as they are configured: both the configuration and the
/// specification of an experiment have them.
struct LaunchOptions {
    Launch launch = Launch::node;
    /// The PMI type (srun --mpi=) for MPI programs that srun starts, or mpi_of_slurm.
    std::string mpi = "none";
    std::vector<std::string> srun_args = {};  // of the step that starts the tasks, each in one word
    /// How the ranks of a node are bound to CPUs, as parse_bind_policy() reads it. Empty: ranks that srun
    /// starts have an equal share of the cores, ranks that a launcher starts are not bound.
    std::string bind = {};
    /// Shell commands that run before the entrypoint.
    std::vector<std::string> setup = {};
    WorkingDirectory working_directory = WorkingDirectory::node_local;
    /// Signals that deliver a notice to the program, names without SIG.
    std::vector<std::string> forward_signals = {};
    std::vector<int> preempted_exit_codes = {};        // of a program that stopped because of a notice
    std::vector<std::string> progress_globs = {};      // files whose newest change shows progress
    std::optional<std::uint32_t> hang_timeout_s = {};  // a run without progress for so long hangs
    bool tensorboard = false;                          // metrics are also written as event files
    friend bool operator==(LaunchOptions const&, LaunchOptions const&) = default;
};

/// Whether `srun --mpi=list` may show this name. "list" itself only prints them. Pure.
bool is_mpi_name(std::string_view text);

std::string_view to_string(LogAction action);
std::optional<LogAction> parse_log_action(std::string_view text);
std::string_view to_string(Launch launch);
std::string_view to_string(SlotType type);
std::string_view to_string(WorkingDirectory directory);
std::optional<Launch> parse_launch(std::string_view text);
std::optional<SlotType> parse_slot_type(std::string_view text);
std::optional<WorkingDirectory> parse_working_directory(std::string_view text);

}  // namespace det
