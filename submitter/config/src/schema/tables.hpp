#pragma once
#include "type.hpp"

// The types of whole documents and of their sections. The .cpp files of this directory hold their tables.
namespace det::config::schema {

extern Type const experiment;  // a configuration
extern Type const site_file;   // the site file, which contains partial configurations

extern Type const bind_mounts, checkpoint_storage, data, duration, entrypoint, environment,
    grid_hyperparameter, grow, hyperparameters, idle_timeout, integrations, labels, length, log_policies,
    max_length, optimizations, pbs, profiling, reproducibility, resources, retention_policy, sbatch_args,
    searched_hyperparameter, searcher, security, slurm, srun_args, tensorboard_storage, time_limit,
    trial_slots;

/// Assigns resources.slots_per_trial, a number or {min, max}, to the Resources at `object`.
void assign_trial_slots(void* object, yaml::Node const& value, Type const& type);

/// The default policies have no action. A policy of the same name that has neither a pattern nor an action
/// switches one off.
inline constexpr std::string_view default_log_policies =
    R"([{"name": "CUDA OOM", "pattern": ".*CUDA out of memory.*"}, )"
    R"({"name": "ECC Error", "pattern": ".*uncorrectable ECC error encountered.*"}])";

enum class HyperparameterForm {
    constant,  // any scalar or list; null too
    searched,  // a map with the key `type`; an explicit const too
    nested,    // every other map
};
HyperparameterForm hyperparameter_form(yaml::Node const& value);

}  // namespace det::config::schema
