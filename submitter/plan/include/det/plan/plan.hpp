#pragma once
#include <det/config/experiment_config.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/search/search.hpp>
#include <det/site/site.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::plan {

/// What a job requests on each of its nodes.
struct NodeRequest {
    bool is_exclusive = true;                     // the whole node; false: it is shared with other jobs
    int slots = 1;                                // number of slots that the job holds on the node
    int gpus = 0;                                 // 0: none are requested
    std::optional<int> cpus = {};                 // empty: all, or as sbatch_args say
    std::optional<std::int64_t> memory_mib = {};  // 0: all; empty: Slurm's default, or as sbatch_args say
};

/// The job of a user's batch script (`experiment create job.sbatch`), besides the options of its header.
struct BatchScriptPlan {
    std::string job_name;           // if the header has none: the file's name, as with sbatch
    std::string working_directory;  // absolute
    bool uses_pool = false;         // the configuration names a pool; its options apply below the header
    std::string indices;            // of the script's own array, "1-9:2"; empty: it has none
    std::vector<std::uint32_t> task_ids = {};  // of that array
};

/// The jobs of an experiment on a site: the resources that its creation requests from Slurm.
struct SubmissionPlan {
    site::Pool pool;         // slots_per_node is that of the requested nodes
    std::string gpu_type;    // empty: any
    std::string exclude;     // a host list: nodes of other kinds, and nodes on which runs failed
    int nodes_up = 0;        // number of nodes that fit and are up
    int nodes_max = 0;       // maximum number of nodes of one job
    std::int64_t nice = 0;   // sbatch --nice
    std::string wckey;       // empty: none
    std::string job_name;    // %i: the experiment's number; empty: as in the script
    std::string time_limit;  // empty: from sbatch_args or Slurm
    Diagnostics warnings;    // what must wait, and settings without effect
    TrialShape shape;        // of each trial; of an elastic one: the largest
    int nodes_min = 0;       // elastic trials: nodes of the smallest run; 0: all runs have `shape`
    std::string min_time;    // sbatch --time-min; empty: none
    NodeRequest node = {};
    Launch launch = Launch::node;
    std::uint32_t lanes = 1;                      // trials that share the node of a job
    std::uint32_t spare_nodes = 0;                // extra nodes of a job
    std::optional<ContainerSpec> container = {};  // of the trials
    std::uint32_t trial_count = 1;
    std::uint32_t concurrent_trials_max = 1;
    bool sampler_sets_lengths = false;  // trials wait for the sampler: tasks claim them
    config::SbatchArgs sbatch_args;     // added after det-submit's own options
    bool expedites_requeue = false;     // after a node failure the job starts before all others
    std::optional<BatchScriptPlan> batch_script = {};

    /// True if fewer nodes are up than a job needs.
    bool must_wait_for_nodes() const { return nodes_up < least_nodes(); }
    /// The nodes in `exclude` and those that the user excludes: a host list.
    std::string excluded_nodes() const;
    /// Whether Slurm chooses the number of nodes of each run.
    bool is_elastic() const { return nodes_min > 0; }
    /// \return The number of nodes of a job; of an elastic trial the largest.
    int nodes() const { return shape.nodes + static_cast<int>(spare_nodes); }
    /// \return The smallest number of nodes with which a job starts.
    int least_nodes() const {
        return (is_elastic() ? nodes_min : shape.nodes) + static_cast<int>(spare_nodes);
    }
};

/// Finds the parts of a configuration that no site can run, and warns of settings without effect.
/// plan_submission() reports the same; this function needs no site. Pure.
Diagnostics check_supported(config::ExperimentConfig const& config);

/// Plans slots_per_trial as whole nodes: a number up to the slots of a node needs one node; a larger number
/// must be a multiple of the slots of a node, as both ends of a range {min, max} must be. If a request can
/// never run at this site, the error contains the numbers and the nearest sizes that fit. What a batch script
/// asks for is planned as it is: Slurm judges it. Pure.
Result<SubmissionPlan, Diagnostics> plan_submission(config::ExperimentConfig const& config,
                                                    site::Site const& site);

/// The input of the searcher, as in spec.json.
struct SearchInput {
    SearcherSpec searcher;
    JsonValue hyperparameters;
    std::uint32_t experiment_seed = 0;
};
SearchInput search_input(config::ExperimentConfig const& config);

/// \return The search of the configuration, with at least one trial; or errors with their locations. Pure.
Result<search::Search, Diagnostics> plan_search(config::ExperimentConfig const& config);

}  // namespace det::plan
