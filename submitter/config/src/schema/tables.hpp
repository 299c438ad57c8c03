#pragma once
#include "type.hpp"

// Each section's table stands in a file of its own.
namespace det::config::schema {

extern Type const experiment;  // the whole

extern Type const bind_mounts, checkpoint_storage, data, entrypoint, environment, hyperparameters,
    integrations, labels, length, log_policies, max_length, optimizations, pbs, profiling, reproducibility,
    resources, retention_policy, searched_hyperparameter, searcher, security, slurm;

enum class HyperparameterForm {
    constant,  // any scalar or list; null too
    searched,  // a map with the key `type`; an explicit const too
    nested,    // every other map
};
HyperparameterForm hyperparameter_form(yaml::Node const& value);

}  // namespace det::config::schema
