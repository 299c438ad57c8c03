#pragma once
#include <det/plan/plan.hpp>

namespace det::plan {

inline constexpr char slots_path[] = "resources.slots_per_trial";

/// With the place where that value was written.
inline Error with_location(config::ExperimentConfig const& config, std::string_view path, Error error) {
    error.where = config.where(path);
    return error;
}

/// The nodes that a trial gets.
struct NodeSelection {
    TrialShape shape;
    int node_slots = 1;    // slots that each of the nodes gives
    std::string gpu_type;  // empty: any
    std::string exclude;   // a host list: nodes of other kinds that Slurm might take
    int nodes_up = 0;      // of those that it may get
    int nodes_max = 0;     // as many as a job may have
};

/// slots_per_trial as whole nodes of one kind (of several where the pool says so). Where nothing fits: the
/// numbers, and the nearest that does. Pure.
Result<NodeSelection> select_nodes(config::ExperimentConfig const& config, site::Pool const& pool);

/// "pool 'a' has 4 nodes of 8 slots and 2 nodes of 4 slots".
std::string describe(site::Pool const& pool);

/// What the pool does not give to a trial: slots, nodes, time, another QOS ... Pure.
Diagnostics check_limits(config::ExperimentConfig const& config, SubmissionPlan const& plan);

/// What could run, but not now: nodes that are down or drained, a partition that is. Warnings. Pure.
Diagnostics check_availability(config::ExperimentConfig const& config, SubmissionPlan const& plan);

/// The container of the entrypoint, where the configuration has an image and the pool runs images. An image
/// that somebody asked for in a pool without a runtime is an error; the site's own default, and whatever the
/// runtime has no use for, are warnings. Pure.
std::optional<ContainerSpec> plan_container(config::ExperimentConfig const& config, site::Site const& site,
                                            SubmissionPlan const& plan, Diagnostics& found);

}  // namespace det::plan
