#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/container.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/event.hpp>
#include <det/protocol/ids.hpp>
#include <det/protocol/launch_options.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// The shape of a trial on the cluster: the same number of slots on each of its nodes.
struct TrialShape {
    int nodes = 1;
    int slots_per_node = 1;  // ranks per node; 0: one rank without a slot
    SlotType slot_type = SlotType::cpu;
    friend bool operator==(TrialShape const&, TrialShape const&) = default;

    int ranks_per_node() const { return slots_per_node > 0 ? slots_per_node : 1; }
    int ranks() const { return nodes * ranks_per_node(); }
};

struct ContextSpec {
    std::string sha256;  // name of the archive below contexts/
    std::uint64_t size_bytes = 0;
    bool has_startup_hook = false;  // startup-hook.sh exists; it is sourced before the entrypoint
    friend bool operator==(ContextSpec const&, ContextSpec const&) = default;
};

struct SearcherSpec {
    std::string name;
    std::string metric;
    bool smaller_is_better = true;
    JsonValue options;  // the searcher section of the configuration
    friend bool operator==(SearcherSpec const&, SearcherSpec const&) = default;
};

/// A log policy: an action for log lines that match a pattern.
struct LogPolicySpec {
    std::string name;     // for messages
    std::string pattern;  // a regular expression of RE2
    LogAction action = LogAction::cancel_retries;
    friend bool operator==(LogPolicySpec const&, LogPolicySpec const&) = default;
};

/// What a batch script of the user needs besides the entrypoint, which is its interpreter, its path and its
/// arguments (`slurm.launch: script`).
struct BatchScriptSpec {
    /// Absolute path of the directory in which the script runs; empty: the directory of the trial's code.
    std::string working_directory;
    /// The script's own --array: task array_task_ids[i] is trial i. Empty: the script has no array, and sees
    /// no SLURM_ARRAY_* variables.
    std::vector<std::uint32_t> array_task_ids = {};
    /// SLURM_SUBMIT_DIR of the script, also in jobs that were submitted again from elsewhere; empty: that of
    /// the job.
    std::string submit_directory = {};
    friend bool operator==(BatchScriptSpec const&, BatchScriptSpec const&) = default;
};

/// A continuation of an ended experiment. Its files are in revisions/<number>.
struct Revision {
    std::uint32_t number = 0;
    /// For each continued trial, its first run that counts. The results of earlier runs are ignored.
    std::map<std::uint32_t, std::uint32_t> first_runs = {};
    friend bool operator==(Revision const&, Revision const&) = default;
};

/// The complete specification of an experiment for its jobs: experiments/<id>/spec.json, the only
/// configuration that code in jobs reads, besides the secrets in secrets.json. Written at creation and
/// replaced by each continuation. Only the revisions that it lists are valid.
struct ExperimentSpec : LaunchOptions {
    ExperimentId id;
    std::string name;
    std::string owner;
    std::optional<ExperimentId> parent = {};  // the experiment from which it was forked
    UtcTime created;
    std::string root;  // DET_ROOT, absolute
    std::string pool;
    TrialShape shape;  // of an elastic trial: the largest
    /// Elastic trials: the number of nodes of the smallest run. Each run has as many nodes as its job has
    /// got, up to shape.nodes. 0: all runs have `shape`.
    int nodes_min = 0;
    /// Maximum number of trials that an array task runs at the same time.
    std::uint32_t lanes = 1;
    bool has_fewer_tasks = false;             // a limit on jobs allows fewer array tasks than the trials need
    bool has_gres = true;                     // Slurm manages the GPUs, so that steps can request them
    std::uint32_t spare_nodes = 0;            // nodes of a job beyond those that a trial uses
    std::string excluded_nodes;               // host list of nodes that its jobs must not use
    std::vector<std::string> sbatch_options;  // sbatch options of its jobs in addition to the script
    // argv; a string in the configuration becomes {"bash", "-c", string}
    std::vector<std::string> entrypoint;
    std::vector<std::string> environment_variables;    // NAME=VALUE; the last value of a name counts
    std::optional<BatchScriptSpec> batch_script = {};  // with Launch::script
    /// Directories of a node-local working directory that all nodes and runs of a trial share. The paths are
    /// relative; no directory lies inside another one.
    std::vector<std::string> persist = {};
    std::optional<ContextSpec> context;
    std::optional<ContainerSpec> container = {};  // container of the entrypoint
    SearcherSpec searcher;
    JsonValue hyperparameters;  // as configured; the values of each trial are drawn from them
    std::uint32_t experiment_seed = 0;
    std::uint32_t trial_count = 1;  // total number of trials of the searcher
    std::uint32_t max_restarts = 5;
    bool has_default_max_restarts = false;  // neither the user, a template nor the site has set max_restarts
    std::uint32_t preemption_timeout_s = 3600;  // time limit of a trial after the request to stop
    /// Time between Slurm's preemption notice and the end of the job; nullopt: unknown.
    std::optional<std::uint32_t> notice_s = {};
    std::vector<LogPolicySpec> log_policies;
    /// The checkpoint from which a trial without a checkpoint of its own starts.
    std::optional<std::string> source_checkpoint = {};
    /// SHA-256 of the manifest of the source checkpoint when the experiment was created; empty: not known.
    std::string source_checkpoint_sha256 = {};
    /// The other user whose source checkpoint is used (--trust-owner), as a numeric user id.
    std::optional<std::uint32_t> source_checkpoint_owner = {};
    std::string checkpoint_path;  // absolute path of the checkpoints; empty: not in a directory
    JsonValue config;  // the effective configuration in the form of Determined, with masked secrets
    std::vector<Revision> revisions = {};  // in order; empty: never continued

    bool is_elastic() const { return nodes_min > 0; }
    /// The number of ranks of the smallest run.
    int least_ranks() const { return (is_elastic() ? nodes_min : shape.nodes) * shape.ranks_per_node(); }
    /// Whether array tasks claim trials; otherwise task i runs trial i.
    bool claims_trials() const { return lanes > 1 || has_fewer_tasks; }
    /// The current revision; 0 before the first continuation.
    std::uint32_t revision() const { return revisions.empty() ? 0 : revisions.back().number; }
    /// The first run of the trial that counts: see Revision::first_runs.
    std::uint32_t first_run_of(std::uint32_t trial) const;
    friend bool operator==(ExperimentSpec const&, ExperimentSpec const&) = default;
};

std::string render_spec(ExperimentSpec const& spec);
Result<ExperimentSpec> parse_spec(std::string_view text);

/// The body of the document spec.json.
Json to_json(ExperimentSpec const& spec);
Result<ExperimentSpec> spec_from_json(Json const& body);

/// Removes the `continued` events of continuations that were interrupted before they took effect. Pure.
std::vector<Event> events_in_force(std::vector<Event> events, ExperimentSpec const& spec);

}  // namespace det
