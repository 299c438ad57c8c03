#pragma once
#include <det/config/layers.hpp>
#include <det/plan/plan.hpp>
#include <det/plan/script.hpp>

#include <string>
#include <vector>

#include "check_result.hpp"

namespace det::plan {

inline config::ExperimentConfig config_of(std::string const& text) {
    auto const base = must(config::parse_layer(
        "name: example\nentrypoint: ./train\nsearcher: {name: single, metric: loss}\n"
        "checkpoint_storage: {type: shared_fs, host_path: /ck}\nreproducibility: {experiment_seed: 1}\n",
        "defaults"));
    auto const written = must(config::parse_layer(text, "exp.yaml"));
    return must(config::read_experiment_config(must(config::merge_layers({{written}, {base}}))));
}

inline config::ExperimentConfig with_slots(int slots) {
    return config_of("resources:\n  slots_per_trial: " + std::to_string(slots) + "\n");
}

inline plan::ScriptInput script_input() {
    return {{7}, "x", "/det/experiments/7", "/opt/det/bin/det-launch"};
}

/// The #SBATCH lines that the plan becomes.
inline std::string script_of(SubmissionPlan const& plan) {
    return must(plan::render_script("{{sbatch_options}}", plan, script_input()));
}

}  // namespace det::plan
