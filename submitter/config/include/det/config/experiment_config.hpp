#pragma once
#include <det/config/checkpoint_storage.hpp>
#include <det/config/environment.hpp>
#include <det/config/hyperparameters.hpp>
#include <det/config/length.hpp>
#include <det/config/sbatch_args.hpp>
#include <det/config/searcher.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/launch.hpp>

namespace det::config {

/// A string is a shell command; a list is a program and its arguments.
using Entrypoint = std::variant<std::string, std::vector<std::string>>;

enum class CheckpointPolicy { best, all, none };

struct Device {
    std::string host_path;
    std::string container_path;
    std::string mode;
};

struct Resources {
    std::int64_t slots_per_trial = 1;
    std::optional<std::int64_t> max_slots;
    std::string resource_pool;  // empty: the default pool
    std::optional<std::int64_t> priority;
    double weight = 1;
    std::optional<std::int64_t> shm_size_bytes;
    std::vector<Device> devices;
    bool is_single_node = false;
};

struct Reproducibility {
    std::optional<std::int64_t> experiment_seed;  // creation adds one
};

struct Profiling {
    bool enabled = false;
    std::int64_t begin_on_batch = 0;
    std::optional<std::int64_t> end_after_batch;
    bool sync_timings = true;
};

struct Slurm {
    std::optional<std::int64_t> slots_per_node;
    std::optional<std::string> gpu_type;
    SbatchArgs sbatch_args;
    Launch launch = Launch::node;
    Mpi mpi = Mpi::none;
    std::optional<std::int64_t> trials_per_node;
    std::int64_t spare_nodes = 0;
    std::vector<std::string> forward_signals;
};

struct LogPolicy {
    std::optional<std::string> name, pattern;
    std::optional<LogAction> action;
};

struct BindMount {
    std::string host_path;
    std::string container_path;
    bool read_only = false;
    std::string propagation;
};

/// An experiment's effective configuration: merged, with defaults, checked. Keys without effect on Slurm
/// (integrations, pod_spec ...) have no member; they are in `effective`.
struct ExperimentConfig {
    std::string name;
    std::string description;
    std::vector<std::string> labels;
    std::string workspace;
    std::string project;
    yaml::Node data;
    Entrypoint entrypoint;
    Hyperparameters hyperparameters;
    Searcher searcher;
    Resources resources;
    Environment environment;
    std::vector<BindMount> bind_mounts;
    Slurm slurm;
    CheckpointStorage checkpoint_storage;
    CheckpointPolicy checkpoint_policy = CheckpointPolicy::best;
    Length min_validation_period;
    Length min_checkpoint_period;
    bool perform_initial_validation = false;
    std::int64_t records_per_epoch = 0;
    std::int64_t scheduling_unit = 100;
    std::int64_t max_restarts = 5;
    std::optional<std::int64_t> preemption_timeout_seconds;
    std::vector<LogPolicy> log_policies;
    Reproducibility reproducibility;
    Profiling profiling;
    bool debug = false;

    yaml::Node effective;

    /// \return The location of the value at a path such as "resources.slots_per_trial"; nothing for a
    /// default.
    std::optional<SourceSpan> where(std::string_view path) const;
};

/// Adds the defaults to a merged configuration, checks it and converts it to typed values.
Result<ExperimentConfig, Diagnostics> read_experiment_config(yaml::Node const& merged);

}  // namespace det::config
