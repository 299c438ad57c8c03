#pragma once
#include <det/config/layers.hpp>
#include <det/protocol/container.hpp>
#include <det/protocol/launch_options.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::config {

/// How Slurm orders jobs at this site.
enum class Scheduler { priority, fair_share };
using det::ContainerRuntime;

std::string_view to_string(Scheduler scheduler);

/// Who can read the files of new experiments.
enum class Sharing {
    only_owner,
    group,  // the group of the root too; secrets stay with their owner
};
std::string_view to_string(Sharing sharing);
std::optional<Sharing> parse_sharing(std::string_view text);
using det::to_string;

/// How containers of a runtime that det-submit does not know are started; see ContainerTemplate.
struct ContainerTemplateEntry {
    std::string name;
    std::vector<std::string> command, srun_args, cuda, rocm, xpu, import_command;
};

/// Limits of one trial in a pool.
struct PoolLimits {
    std::optional<std::int64_t> slots_per_trial_max;
    std::optional<std::int64_t> nodes_per_trial_max;
    std::optional<std::string> time_max;  // as Slurm writes it: "2-00:00:00"
};

/// A pool of the site file. An absent slot type or number of slots comes from the live cluster; an absent
/// scheduler or container runtime comes from the site. An absent qos, account, reservation or constraint is
/// not passed to sbatch.
struct PoolEntry {
    std::string name;
    std::string description;
    std::string partition;         // default: the pool's name
    bool passes_partition = true;  // --partition
    std::optional<std::string> qos, account, reservation, constraint, gpu_type;
    std::optional<SlotType> slot_type;
    std::optional<std::int64_t> slots_per_node;
    std::vector<std::string> user_options;     // names of options that slurm.sbatch_args may replace
    bool has_whole_memory = true;              // --mem=0
    bool is_exclusive = true;                  // false: trials share nodes with other jobs
    bool may_mix_nodes = false;                // a trial may use nodes of several kinds
    std::optional<std::int64_t> grace_time_s;  // time that a trial needs to save its work
    std::optional<Scheduler> scheduler;
    std::optional<ContainerRuntime> container_runtime;
    std::optional<ContainerTemplateEntry> container_template;
    PoolLimits limits;
    yaml::Node network_interface;  // text
    yaml::Node host_suffix;        // text
    yaml::Node sbatch_args;        // a list
    yaml::Node srun_args;          // a list
    yaml::Node task_defaults;      // a partial configuration
    yaml::Node invariants;         // a partial configuration
    yaml::Location location;
};

/// The contents of the site file. Without a file it is empty: the pools then come from the live cluster.
struct SiteFile {
    std::int64_t version = 1;
    std::string name;
    std::optional<std::string> storage_root;  // absolute; %u is the user's name
    std::optional<std::int64_t> purge_days;   // the site deletes files of storage_root that are older
    Sharing sharing = Sharing::only_owner;
    std::optional<std::string> templates;  // absolute: a directory of templates for all users
    std::optional<std::string> default_compute_pool, default_aux_pool;
    bool has_pool_per_partition = true;
    std::optional<std::string> job_template;        // absolute
    std::string job_name = "exp-%i";                // %n: the experiment's name, %i: its number
    std::optional<std::string> job_project_source;  // project, workspace, label, label:PREFIX
    bool refuses_group_code = false;                // refuses code that a group can write; false: warns
    std::vector<std::string> trusted_ancestors;     // absolute: directories that a group may write
    std::vector<std::string> trusted_owners;        // users, and groups as group:NAME
    std::vector<std::string> user_options;          // of all pools
    Scheduler scheduler = Scheduler::priority;
    ContainerRuntime container_runtime = ContainerRuntime::none;
    std::optional<ContainerTemplateEntry> container_template;
    std::optional<std::string> image_directory;  // absolute; %u is the user's name
    yaml::Node network_interface;
    yaml::Node host_suffix;
    yaml::Node sbatch_args;
    yaml::Node srun_args;
    yaml::Node task_defaults;
    yaml::Node invariants;
    std::vector<PoolEntry> pools;

    std::string path;  // empty: no site file
    yaml::Node document;
    Diagnostics warnings;

    bool exists() const { return !path.empty(); }
    PoolEntry const* find_pool(std::string_view name) const;
    /// \return The location of the value of a key such as "default_compute_pool".
    std::optional<SourceSpan> where(std::string_view key) const;
};

/// Parses a site file strictly and reports all errors at once. Pure.
Result<SiteFile, Diagnostics> parse_site_file(std::string_view text, std::string origin);

/// The layers below a template: the pool's defaults, then the site's, the highest first. `pool` may be null.
std::vector<Layer> site_defaults(SiteFile const& site, PoolEntry const* pool);
/// The layers above all others: the site's invariants, then the pool's, the highest first.
std::vector<Layer> site_invariants(SiteFile const& site, PoolEntry const* pool);

/// Replaces %u in storage_root by the user's name, and %% by a percent sign.
std::string expand_storage_root(std::string_view storage_root, std::string_view user);

/// The roots of all users: the directory that has an entry for each user, and the path of a root below the
/// entry, which may be empty.
struct RootsOfUsers {
    std::string directory, below;
};
/// nullopt if %u is only a part of a name (`/scratch/det-%u`), or is there more than once.
std::optional<RootsOfUsers> roots_of_users(std::string_view storage_root);

/// Parses Slurm's time limits: "90" (minutes), "90:30", "12:00:00", "2-12", "2-12:30", "2-12:30:00".
/// \return Seconds; nothing for UNLIMITED, INFINITE, and for an invalid time.
std::optional<std::int64_t> parse_time_limit_s(std::string_view text);

}  // namespace det::config
