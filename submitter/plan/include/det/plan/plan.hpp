#pragma once
#include <det/config/experiment_config.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/site/site.hpp>

#include <cstdint>
#include <string>

namespace det::plan {

/// An experiment as jobs of a site: what will be asked of Slurm, before anything is.
struct SubmissionPlan {
    site::Pool pool;                // its slots_per_node are those of the nodes that are asked for
    std::string gpu_type;           // empty: any
    std::string exclude;            // nodes of other kinds, a host list
    int nodes_up = 0;               // of those that it may get
    int nodes_max = 0;              // that a job of this user may have of them
    std::string wckey;              // empty: none
    std::string time_limit;         // empty: as the user or Slurm says
    Diagnostics warnings;           // what can't run now, but will; what has no effect
    TrialShape shape;               // of each trial
    std::uint32_t lanes = 1;        // trials that share the node of a job
    std::uint32_t spare_nodes = 0;  // of a job, beyond those of a trial
    std::optional<ContainerSpec> container = {};  // that they run in
    std::uint32_t trial_count = 1;
    std::uint32_t concurrent_trials_max = 1;
    std::vector<std::string> sbatch_args;  // the user's own, behind ours

    /// Nodes that it needs are drained or down now.
    bool must_wait_for_nodes() const { return nodes_up < nodes(); }
    /// Nodes of other kinds, and those that the user does not want: a host list.
    std::string excluded_nodes() const;
    /// Of a job.
    int nodes() const { return shape.nodes + static_cast<int>(spare_nodes); }
};

/// What can't be run at any site. plan_submission says it too; this asks nobody for a site. Pure.
Diagnostics check_supported(config::ExperimentConfig const& config);

/// slots_per_trial as whole nodes: at most a node's slots are one node, more must be a whole multiple of
/// them. Whatever can never run here is said with the numbers and with what would fit. Pure.
Result<SubmissionPlan, Diagnostics> plan_submission(config::ExperimentConfig const& config,
                                                    site::Site const& site);

}  // namespace det::plan
