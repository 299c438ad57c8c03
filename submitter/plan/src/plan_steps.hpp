#pragma once
#include <det/plan/plan.hpp>

namespace det::plan {

inline constexpr char slots_path[] = "resources.slots_per_trial";

/// Adds the location of the value at `path` to the error.
inline Error with_location(config::ExperimentConfig const& config, std::string_view path, Error error) {
    error.where = config.where(path);
    return error;
}

/// The nodes of a trial.
struct NodeSelection {
    TrialShape shape;
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
