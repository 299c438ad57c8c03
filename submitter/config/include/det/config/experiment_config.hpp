#pragma once
#include <det/config/sbatch_args.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/launch_options.hpp>
#include <det/yaml/node.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace det::config {

struct ConstHyperparameter {
    yaml::Node value;  // any value, also null or a list
};
struct IntHyperparameter {
    std::int64_t minval = 0;
    std::int64_t maxval = 0;
    std::optional<std::int64_t> count;
};
struct DoubleHyperparameter {
    double minval = 0;
    double maxval = 0;
    std::optional<std::int64_t> count;
};
/// The value is `base` to the power of an exponent between minval and maxval.
struct LogHyperparameter {
    double minval = 0;
    double maxval = 0;
    double base = 10;
    std::optional<std::int64_t> count;
};
struct CategoricalHyperparameter {
    std::vector<yaml::Node> vals;
};

struct NamedHyperparameter;
/// Hyperparameters in the order of the file.
using Hyperparameters = std::vector<NamedHyperparameter>;

struct Hyperparameter {
    std::variant<ConstHyperparameter, IntHyperparameter, DoubleHyperparameter, LogHyperparameter,
                 CategoricalHyperparameter, Hyperparameters>
        value;
};

struct NamedHyperparameter {
    std::string name;
    Hyperparameter hyperparameter;
};

/// A training length: {batches: 500}, or a plain 500 in a unit that the training code defines.
struct Length {
    enum class Unit { batches, records, epochs, none };
    Unit unit = Unit::batches;
    std::int64_t count = 0;

    friend bool operator==(Length const&, Length const&) = default;
};

struct SingleSearch {
    std::optional<Length> max_length;
};
struct RandomSearch {
    std::int64_t max_trials = 0;
    std::int64_t max_concurrent_trials = 0;  // 0: no limit
    std::optional<Length> max_length;
};
struct GridSearch {
    std::int64_t max_concurrent_trials = 0;
    std::optional<Length> max_length;
};

enum class AshaMode { aggressive, standard, conservative };

/// The training of a trial is complete at max_length, or when time_metric reaches max_time.
struct AdaptiveAshaSearch {
    std::int64_t max_trials = 0;
    std::int64_t max_concurrent_trials = 0;
    AshaMode mode = AshaMode::standard;
    double divisor = 4;
    std::int64_t max_rungs = 5;
    std::vector<std::int64_t> bracket_rungs;
    bool stop_once = false;
    std::optional<Length> max_length;
    std::optional<std::string> time_metric;
    std::optional<std::int64_t> max_time;
};
struct AsyncHalvingSearch {
    std::int64_t num_rungs = 0;
    std::int64_t max_trials = 0;
    std::int64_t max_concurrent_trials = 0;
    double divisor = 4;
    bool stop_once = false;
    std::optional<Length> max_length;
    std::optional<std::string> time_metric;
    std::optional<std::int64_t> max_time;
};

struct Searcher {
    std::string name;  // as in the configuration: single, random ...
    std::string metric;
    bool smaller_is_better = true;
    std::optional<std::int64_t> source_trial_id;
    std::optional<std::string> source_checkpoint_uuid;
    std::variant<SingleSearch, RandomSearch, GridSearch, AdaptiveAshaSearch, AsyncHalvingSearch> method;
};

/// A setting that depends on the slot type of a trial. Determined knows the first three.
template <class T>
struct PerSlotKind {
    T cpu;
    T cuda;
    T rocm;
    std::optional<T> xpu = {};  // if not set: that of cpu

    T const& of(SlotType type) const {
        if (type == SlotType::cuda) return cuda;
        if (type == SlotType::rocm) return rocm;
        return type == SlotType::xpu && xpu ? *xpu : cpu;
    }
};

struct EnvironmentVariable {
    std::string name;
    std::string value;

    friend bool operator==(EnvironmentVariable const&, EnvironmentVariable const&) = default;
};
/// Variables in the order in which they are set. Of two with the same name, the later one is used.
using EnvironmentVariables = std::vector<EnvironmentVariable>;

struct RegistryAuth {
    std::optional<std::string> username;
    std::optional<std::string> password;
    std::optional<std::string> server_address;
};

struct Environment {
    PerSlotKind<std::optional<std::string>> image;
    PerSlotKind<EnvironmentVariables> environment_variables;
    std::map<std::string, std::int64_t> ports;
    bool force_pull_image = false;
    std::optional<RegistryAuth> registry_auth;
    std::vector<std::string> add_capabilities;
    std::vector<std::string> drop_capabilities;
};

/// A directory that every node mounts.
struct SharedFsStorage {
    std::string host_path;
    std::optional<std::string> storage_path;  // below host_path
    std::string propagation;
};
/// A directory inside the container.
struct DirectoryStorage {
    std::string container_path;
};
struct S3Storage {
    std::string bucket;
    std::optional<std::string> access_key;
    std::optional<std::string> secret_key;
    std::optional<std::string> endpoint_url;
    std::optional<std::string> prefix;
};
struct GcsStorage {
    std::string bucket;
    std::optional<std::string> prefix;
};
struct AzureStorage {
    std::string container;
    std::optional<std::string> connection_string;
    std::optional<std::string> account_url;
    std::optional<std::string> credential;
};

/// The checkpoint storage, and how many checkpoints are kept after the end of the experiment.
struct CheckpointStorage {
    std::string type;  // as in the configuration: shared_fs, s3 ...
    std::int64_t save_experiment_best = 0;
    std::int64_t save_trial_best = 1;
    std::int64_t save_trial_latest = 1;
    std::variant<SharedFsStorage, DirectoryStorage, S3Storage, GcsStorage, AzureStorage> location;
};

/// A string is a shell command; a list is a program and its arguments.
using Entrypoint = std::variant<std::string, std::vector<std::string>>;

enum class CheckpointPolicy { best, all, none };

struct Device {
    std::string host_path;
    std::string container_path;
    std::string mode;
};

struct Resources {
    std::int64_t slots_per_trial = 1;  // of an elastic trial: the most
    /// The fewest slots of a run of an elastic trial; nullopt: all runs have slots_per_trial.
    std::optional<std::int64_t> slots_per_trial_min;
    std::optional<std::int64_t> max_slots;
    std::string resource_pool;  // empty: the default pool
    std::optional<std::int64_t> priority;
    double weight = 1;
    std::optional<std::int64_t> shm_size_bytes;
    std::vector<Device> devices;
    bool is_single_node = false;
};

struct Reproducibility {
    std::optional<std::int64_t> experiment_seed;  // if absent, creation chooses a seed
};

struct Profiling {
    bool enabled = false;
    std::int64_t begin_on_batch = 0;
    std::optional<std::int64_t> end_after_batch;
    bool sync_timings = true;
};

/// What follows if the pool of an experiment with an image runs no containers.
enum class ContainerUse {
    optional,  // the entrypoint runs without one, with a warning
    required,  // the experiment is refused
};

struct Slurm : LaunchOptions {
    std::optional<std::int64_t> slots_per_node;
    std::optional<std::string> gpu_type;
    SbatchArgs sbatch_args;
    /// Absolute path of the user's batch script, whose header is in sbatch_args; empty: there is none.
    std::string batch_script;
    std::optional<std::int64_t> trials_per_node;
    std::optional<bool> exclusive;  // whole nodes; empty: as the pool says
    std::int64_t spare_nodes = 0;
    std::string min_time;  // sbatch --time-min; empty: none
    ContainerUse container = ContainerUse::optional;
    std::vector<std::string> persist;  // relative paths without ".." and without a '/' at the end
    std::optional<std::int64_t> nice;
    std::optional<std::int64_t> bad_node_memory_hours;
    std::vector<std::string> after, after_any;  // experiment "7" or trial "7.3"
};

struct LogPolicy {
    std::optional<std::string> name, pattern;
    std::optional<LogAction> action;
};

/// \return The policy's own pattern, else, if it has an action, that of the default policy of the same name.
/// Nothing if there is neither: the policy matches no line and only switches off a default one.
std::optional<std::string> pattern_of(LogPolicy const& policy);
/// True if a default policy has this name.
bool is_default_log_policy(std::string_view name);

struct BindMount {
    std::string host_path;
    std::string container_path;
    bool read_only = false;
    std::string propagation;
};

/// An experiment's effective configuration: merged, with defaults, checked. Keys without a member
/// (optimizations, integrations, pod_spec ...) are only in `effective`.
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
    /// default or an absent key.
    std::optional<SourceSpan> where(std::string_view path) const;
};

/// Adds the defaults to a merged configuration, checks it and converts it to typed values.
Result<ExperimentConfig, Diagnostics> read_experiment_config(yaml::Node const& merged);

}  // namespace det::config
