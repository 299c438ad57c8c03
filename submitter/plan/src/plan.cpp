#include <det/plan/plan.hpp>
#include <det/plan/search.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::plan {
namespace {

using config::ExperimentConfig;

constexpr char slots_path[] = "resources.slots_per_trial";
constexpr char pool_path[] = "resources.resource_pool";

Error at(ExperimentConfig const& config, std::string_view path, Error error) {
    error.where = config.where(path);
    return error;
}

std::string describe(site::Pool const& pool) {
    return fmt::format("pool '{}' has {} node{} of {} slots", pool.name, pool.node_count,
                       pool.node_count == 1 ? "" : "s", pool.slots_per_node);
}

/// Slots that whole nodes of the pool can give and that are nearest to what was asked.
std::string nearest_fits(std::int64_t slots, site::Pool const& pool) {
    std::int64_t const per_node = pool.slots_per_node;
    auto const most = per_node * pool.node_count;
    auto const below = std::min(slots / per_node * per_node, most);
    auto const above = below + per_node;
    if (above > most || below == slots) return fmt::format("use {}", std::min(below, most));
    return below == 0 ? fmt::format("use {}", above) : fmt::format("use {} or {}", below, above);
}

Result<TrialShape> fit_to_whole_nodes(ExperimentConfig const& config, site::Pool const& pool) {
    auto const slots = config.resources.slots_per_trial;
    auto const per_node = static_cast<std::int64_t>(pool.slots_per_node);
    if (slots == 0) return TrialShape{1, 0, SlotType::cpu};
    if (slots <= per_node) return TrialShape{1, static_cast<int>(slots), pool.slot_type};
    if (slots % per_node != 0) {
        return at(config, slots_path,
                  Error{codes::slots_do_not_fit,
                        fmt::format("{} slots are no whole number of nodes: {}", slots, describe(pool)),
                        nearest_fits(slots, pool)});
    }
    auto const nodes = slots / per_node;
    if (nodes > pool.node_count) {
        return at(
            config, slots_path,
            Error{codes::slots_do_not_fit,
                  fmt::format("{} slots are {} nodes, more than there are: {}", slots, nodes, describe(pool)),
                  nearest_fits(slots, pool)});
    }
    if (config.resources.is_single_node) {
        return at(config, slots_path,
                  Error{codes::slots_do_not_fit,
                        fmt::format("{} slots don't fit on a single node: {}", slots, describe(pool)),
                        fmt::format("use at most {}", per_node)});
    }
    return TrialShape{static_cast<int>(nodes), static_cast<int>(per_node), pool.slot_type};
}

Status check_storage(ExperimentConfig const& config) {
    if (config.checkpoint_storage.type == "shared_fs") return Ok{};
    return at(config, "checkpoint_storage.type",
              Error{codes::not_supported,
                    fmt::format("checkpoint storage '{}' can't be used yet", config.checkpoint_storage.type),
                    "use 'shared_fs'"});
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
    auto pool = site::require_pool(site, config.resources.resource_pool);
    if (!pool) {
        found.report(at(config, pool_path, std::move(pool).error()));
    } else if (auto shape = fit_to_whole_nodes(config, *pool)) {
        plan.pool = *std::move(pool);
        plan.shape = *shape;
    } else {
        found.report(std::move(shape).error());
    }
    plan.sbatch_args = config.slurm.sbatch_args;
    if (found.has_errors()) return found;
    DET_TRY_ASSIGN(auto const search, plan_search(config));
    plan.trial_count = search.trial_count();
    plan.concurrent_trials_max = search.concurrent_trials_max();
    return plan;
}

}  // namespace det::plan
