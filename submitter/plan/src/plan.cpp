#include <det/config/sbatch_args.hpp>
#include <det/plan/plan.hpp>

#include <fmt/format.h>

#include "fit.hpp"
#include "limits.hpp"
#include "project.hpp"

namespace det::plan {
namespace {

using config::ExperimentConfig;

constexpr char pool_path[] = "resources.resource_pool";

Status check_searcher(ExperimentConfig const& config) {
    if (config.searcher.name == "single") return Ok{};
    return at(config, "searcher.name",
              Error{codes::not_supported, fmt::format("searcher '{}' can't be run yet", config.searcher.name),
                    "use 'single'"});
}

Status check_storage(ExperimentConfig const& config) {
    if (config.checkpoint_storage.type == "shared_fs") return Ok{};
    return at(config, "checkpoint_storage.type",
              Error{codes::not_supported,
                    fmt::format("checkpoint storage '{}' can't be used yet", config.checkpoint_storage.type),
                    "use 'shared_fs'"});
}

/// Each hyperparameter that is drawn from a range, with its path.
void check_hyperparameters(ExperimentConfig const& config, config::Hyperparameters const& parameters,
                           std::string const& prefix, Diagnostics& found) {
    for (auto const& [name, parameter] : parameters) {
        auto const path = prefix + "." + name;
        if (auto const* nested = std::get_if<config::Hyperparameters>(&parameter.value)) {
            check_hyperparameters(config, *nested, path, found);
        } else if (!std::holds_alternative<config::ConstHyperparameter>(parameter.value)) {
            found.report(
                at(config, path,
                   Error{codes::not_supported,
                         fmt::format("{} is drawn from a range; the single searcher runs constants", path),
                         "give it a value"}));
        }
    }
}

/// The one that is named; else the default one, and for trials of 0 slots the one for those.
Result<site::Pool> choose_pool(ExperimentConfig const& config, site::Site const& site) {
    bool const needs_no_slots = config.resources.slots_per_trial == 0;
    auto const* aux = needs_no_slots ? site.default_aux_pool() : nullptr;
    if (config.resources.resource_pool.empty() && aux != nullptr) return *aux;
    return site::require_pool(site, config.resources.resource_pool);
}

void take_nodes(SubmissionPlan& plan, Fit const& fit) {
    plan.shape = fit.shape;
    plan.pool.slots_per_node = fit.node_slots;
    plan.gpu_type = fit.gpu_type;
    plan.exclude = fit.exclude;
    plan.nodes_up = fit.nodes_up;
    // Whoever says no time gets the pool's.
    bool const says_time = config::parse_sbatch_args(plan.sbatch_args).find("time").has_value();
    if (plan.pool.limits.time_max && !says_time) plan.time_limit = *plan.pool.limits.time_max;
}

}  // namespace

std::string SubmissionPlan::array() const {
    return fmt::format("0-{}%{}", trial_count - 1, concurrent_trials_max);
}

Diagnostics check_supported(ExperimentConfig const& config) {
    Diagnostics found;
    auto const note = [&found](auto&& result) {
        if (!result) found.report(std::move(result).error());
    };
    note(check_searcher(config));
    note(check_storage(config));
    check_hyperparameters(config, config.hyperparameters, "hyperparameters", found);
    return found;
}

Result<SubmissionPlan, Diagnostics> plan_submission(ExperimentConfig const& config, site::Site const& site) {
    auto found = check_supported(config);
    SubmissionPlan plan;
    auto pool = choose_pool(config, site);
    if (!pool) {
        found.report(at(config, pool_path, std::move(pool).error()));
        return found;
    }
    plan.pool = *std::move(pool);
    plan.sbatch_args = config.slurm.sbatch_args;
    plan.wckey = project_name(site.job_project_source.value_or(""), config);
    if (auto const fit = fit_to_whole_nodes(config, plan.pool)) {
        take_nodes(plan, *fit);
    } else {
        found.report(fit.error());
    }
    found.append(check_limits(config, plan));
    if (found.has_errors()) return found;
    plan.warnings = check_now(config, plan);
    return plan;
}

}  // namespace det::plan
