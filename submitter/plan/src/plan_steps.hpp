#pragma once
#include <det/plan/plan.hpp>

namespace det::plan {

inline constexpr char slots_path[] = "resources.slots_per_trial";

/// Adds the location of the value at `path` to the error.
inline Error with_location(config::ExperimentConfig const& config, std::string_view path, Error error) {
    error.where = config.where(path);
    return error;
}

/// Whether an option of sbatch is one of those of a pool that slurm.sbatch_args may replace: the plan's pool
/// has its value. Pure.
bool is_option_of_pool(std::string_view name);

/// The pool of the configuration, with the options of the site. A configuration that names none may name the
/// partition of a pool that the site file does not describe. Pure.
Result<site::Pool> require_pool_of(config::ExperimentConfig const& config, site::Site const& site);

/// Replaces the options of the pool by those of slurm.sbatch_args, where the site allows it or the pool has
/// none, and reports others. A constraint of features is added to that of the pool. Then the pool has the
/// nodes and the rules that follow. Pure.
Diagnostics replace_pool_options(site::Pool& pool, config::ExperimentConfig const& config,
                                 site::Site const& site);

/// The nodes of a trial.
struct NodeSelection {
    TrialShape shape;      // of an elastic trial: the largest
    int nodes_min = 1;     // nodes of the smallest run; shape.nodes if the trial is not elastic
    int node_slots = 1;    // slots of each node that trials may use
    site::NodeKind kind;   // of the nodes
    std::string gpu_type;  // empty: any
    std::string exclude;   // a host list: nodes of other kinds
    int nodes_up = 0;      // number of nodes that fit and are up
    int nodes_max = 0;     // maximum number of nodes of a job
};

/// Selects whole nodes of one kind (of several kinds if the pool allows it) for slots_per_trial. If none fit,
/// the Error has the numbers and the nearest sizes that fit. Pure.
Result<NodeSelection> select_nodes(config::ExperimentConfig const& config, site::Pool const& pool);

/// Whether the jobs of a trial of this shape get whole nodes. Pure.
bool is_exclusive(config::ExperimentConfig const& config, site::Pool const& pool,
                  NodeSelection const& selection);

/// The request for each node of a job, once the number of its lanes is known. Pure.
NodeRequest request_node(SubmissionPlan const& plan, NodeSelection const& selection);

/// Warns of slots that a job holds and no trial uses, of `exclusive: false` in a partition that gives whole
/// nodes only, and of an --exclusive without effect. Pure.
void warn_of_node_use(config::ExperimentConfig const& config, SubmissionPlan const& plan, Diagnostics& found);

/// Describes the kinds of nodes of a pool: "pool 'a' has 4 nodes of 8 slots and 2 nodes of 4 slots".
std::string describe(site::Pool const& pool);

/// Finds requests beyond the limits of the pool: slots, time, another QOS ... Pure.
Diagnostics check_limits(config::ExperimentConfig const& config, SubmissionPlan const& plan);

/// Warns if the trial must wait because nodes are down or drained, or the partition is not up. Pure.
Diagnostics check_availability(config::ExperimentConfig const& config, SubmissionPlan const& plan);

/// Warns if the length of a trial's training is in epochs or records, and their conversion to batches is not
/// known. Pure.
void warn_of_length(config::ExperimentConfig const& config, search::Search const& search, Diagnostics& found);

/// The container of the entrypoint, if the configuration has an image and the pool has a container runtime.
/// An image that the user requests in a pool without a runtime is an error. The site's default image there,
/// and settings that the runtime does not use, are warnings. Pure.
std::optional<ContainerSpec> plan_container(config::ExperimentConfig const& config, site::Site const& site,
                                            SubmissionPlan const& plan, Diagnostics& found);

/// The plan of a configuration with slurm.batch_script. An error if the pool is unknown, or if the search has
/// other trials than the script's array has tasks. Pure.
Result<SubmissionPlan, Diagnostics> plan_batch_script(config::ExperimentConfig const& config,
                                                      site::Site const& site, std::string wckey);

}  // namespace det::plan
