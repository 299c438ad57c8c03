#include <det/plan/plan.hpp>

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

}  // namespace

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
    return plan;
}

}  // namespace det::plan
