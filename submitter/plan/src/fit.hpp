#pragma once
#include <det/config/experiment_config.hpp>
#include <det/site/site.hpp>

namespace det::plan {

inline constexpr char slots_path[] = "resources.slots_per_trial";

/// With the place where that value was written.
inline Error at(config::ExperimentConfig const& config, std::string_view path, Error error) {
    error.where = config.where(path);
    return error;
}

/// The nodes that a trial gets.
struct Fit {
    TrialShape shape;
    int node_slots = 1;    // slots that each of the nodes gives
    std::string gpu_type;  // empty: any
    std::string exclude;   // a host list: nodes of other kinds that Slurm might take
    int nodes_up = 0;      // of those that it may get
    int nodes_max = 0;     // as many as a job may have
};

/// slots_per_trial as whole nodes of one kind (of several where the pool says so). Where nothing fits: the
/// numbers, and the nearest that does. Pure.
Result<Fit> fit_to_whole_nodes(config::ExperimentConfig const& config, site::Pool const& pool);

/// "pool 'a' has 4 nodes of 8 slots and 2 nodes of 4 slots".
std::string describe(site::Pool const& pool);

}  // namespace det::plan
