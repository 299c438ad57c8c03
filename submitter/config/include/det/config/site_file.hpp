#pragma once
#include <det/config/layers.hpp>
#include <det/protocol/container.hpp>
#include <det/protocol/launch.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::config {

/// Who is served first: the order that the site has set Slurm up for.
enum class Scheduler { priority, fair_share };
using det::ContainerRuntime;

std::string_view to_string(Scheduler scheduler);
using det::to_string;

/// What one trial may have in a pool.
struct PoolLimits {
    std::optional<std::int64_t> slots_per_trial_max;
    std::optional<std::int64_t> nodes_per_trial_max;
    std::optional<std::string> time_max;  // as Slurm writes it: "2-00:00:00"
};

/// A pool as the site file has it; what is absent comes from the live cluster.
struct PoolEntry {
    std::string name;
    std::string description;
    std::string partition;  // the pool's name, where nothing else is said
    std::optional<std::string> qos, account, reservation, constraint, gpu_type;
    std::optional<SlotType> slot_type;
    std::optional<std::int64_t> slots_per_node;
    bool has_whole_memory = true;              // --mem=0
    bool may_mix_nodes = false;                // a trial may get nodes of several kinds
    std::optional<std::int64_t> grace_time_s;  // what a trial here needs to save its work
    std::optional<Scheduler> scheduler;
    std::optional<ContainerRuntime> container_runtime;
    PoolLimits limits;
    yaml::Node network_interface;  // text
    yaml::Node sbatch_args;        // a list
    yaml::Node task_defaults;      // a part of a configuration
    yaml::Node invariants;         // the same
    yaml::Location location;
};

/// What a site says of itself. Without a file it says nothing, and all comes from the live cluster.
struct SiteFile {
    std::int64_t version = 1;
    std::string name;
    std::optional<std::string> storage_root;  // absolute; %u is the user's name
    std::optional<std::string> default_compute_pool, default_aux_pool;
    bool has_pool_per_partition = true;
    std::optional<std::string> job_template;        // absolute
    std::optional<std::string> job_project_source;  // project, workspace, label, label:PREFIX
    Scheduler scheduler = Scheduler::priority;
    ContainerRuntime container_runtime = ContainerRuntime::none;
    yaml::Node network_interface;
    yaml::Node sbatch_args;
    yaml::Node task_defaults;
    yaml::Node invariants;
    std::vector<PoolEntry> pools;

    std::string path;  // empty: there is none
    yaml::Node document;
    Diagnostics warnings;

    bool exists() const { return !path.empty(); }
    PoolEntry const* find_pool(std::string_view name) const;
    /// Where a value was written: "default_compute_pool".
    std::optional<SourceSpan> where(std::string_view key) const;
};

/// Strictly, everything that is wrong in one go. Pure.
Result<SiteFile, Diagnostics> parse_site_file(std::string_view text, std::string origin);

/// What stands below a template: the pool's defaults over the site's, the highest first. `pool` may be null.
std::vector<Layer> site_defaults(SiteFile const& site, PoolEntry const* pool);
/// What stands over everything: the site's invariants over the pool's, the highest first.
std::vector<Layer> site_invariants(SiteFile const& site, PoolEntry const* pool);

/// storage_root with %u replaced.
std::string expand_storage_root(std::string_view storage_root, std::string_view user);

/// Slurm's time limits: "90" (minutes), "90:30", "12:00:00", "2-12", "2-12:30", "2-12:30:00", in seconds.
/// Nothing for UNLIMITED, INFINITE, and for what is no time.
std::optional<std::int64_t> parse_time_limit(std::string_view text);

}  // namespace det::config
