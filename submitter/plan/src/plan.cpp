#include <det/config/sbatch_args.hpp>
#include <det/plan/plan.hpp>
#include <det/plan/search.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "container.hpp"
#include "fit.hpp"
#include "limits.hpp"
#include "project.hpp"

namespace det::plan {
namespace {

using config::ExperimentConfig;

constexpr char pool_path[] = "resources.resource_pool";

Status check_storage(ExperimentConfig const& config) {
    if (config.checkpoint_storage.type == "shared_fs") return Ok{};
    return at(config, "checkpoint_storage.type",
              Error{codes::not_supported,
                    fmt::format("checkpoint storage '{}' can't be used yet", config.checkpoint_storage.type),
                    "use 'shared_fs'"});
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

/// As the searcher says, and no more at once than max_slots are enough for; one in any case.
std::uint32_t concurrent_trials_max(search::Search const& search, ExperimentConfig const& config,
                                    TrialShape const& shape) {
    auto const searched = search.concurrent_trials_max();
    if (!config.resources.max_slots) return searched;
    auto const trials = std::max<std::int64_t>(1, *config.resources.max_slots / shape.ranks());
    return static_cast<std::uint32_t>(std::min<std::int64_t>(searched, trials));
}

}  // namespace

Diagnostics check_supported(ExperimentConfig const& config) {
    Diagnostics found;
    if (auto searched = plan_search(config); !searched) found.append(std::move(searched).error());
    if (auto stored = check_storage(config); !stored) found.report(std::move(stored).error());
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
    Diagnostics of_container;
    plan.container = plan_container(config, site, plan, of_container);
    if (of_container.has_errors()) found.append(of_container);
    if (found.has_errors()) return found;
    DET_TRY_ASSIGN(auto const search, plan_search(config));
    plan.trial_count = search.trial_count();
    plan.concurrent_trials_max = concurrent_trials_max(search, config, plan.shape);
    plan.warnings = check_now(config, plan);
    plan.warnings.append(of_container);
    return plan;
}

}  // namespace det::plan
