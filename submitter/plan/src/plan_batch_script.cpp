// The plan of a user's batch script: its header says what sbatch is asked for.
#include <det/config/batch_script.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "plan_steps.hpp"

namespace det::plan {
namespace {

using config::ExperimentConfig;
using config::SbatchArgs;

constexpr char array_path[] = "slurm.sbatch_args";

/// The number at the beginning of "2-4", "8".
std::optional<int> first_number(std::optional<std::string> const& value) {
    if (!value) return std::nullopt;
    return parse_integer<int>(std::string_view(*value).substr(0, value->find_first_not_of("0123456789")));
}

/// The sum of the numbers in "4", "a100:4", "a100:2,v100:2".
int sum_of_types(std::string_view list) {
    int sum = 0;
    for (auto const part : split(list, ','))
        sum += parse_integer<int>(part.substr(part.rfind(':') + 1)).value_or(1);
    return sum;
}

/// The GPUs in "gpu:2", "gpu", "gpu:a100:2,nvme:1".
int gpus_of_gres(std::string_view gres) {
    int sum = 0;
    for (auto part : split(gres, ',')) {
        for (auto const* prefix : {"gres:", "gres/"}) {
            if (part.starts_with(prefix)) part.remove_prefix(5);
        }
        part = part.substr(0, part.find('('));
        bool const is_gpu = part == "gpu" || part.starts_with("gpu:") || part.starts_with("gpu=");
        if (!is_gpu) continue;
        auto const number = part.find_last_of(":=");
        sum += number == std::string_view::npos ? 1 : parse_integer<int>(part.substr(number + 1)).value_or(1);
    }
    return sum;
}

int ceil_of(int whole, int part) { return (whole + part - 1) / part; }

int header_tasks_per_node(SbatchArgs const& args, int nodes) {
    for (auto const* name : {"ntasks-per-node", "tasks-per-node"}) {
        if (auto const tasks = first_number(args.find(name))) return *tasks;
    }
    return ceil_of(first_number(args.find("ntasks")).value_or(nodes), nodes);
}

int gpus_per_node(SbatchArgs const& args, int nodes, int tasks) {
    if (auto const value = args.find("gpus-per-node")) return sum_of_types(*value);
    if (auto const value = args.find("gres")) {
        if (auto const gpus = gpus_of_gres(*value); gpus > 0) return gpus;
    }
    if (auto const value = args.find("gpus")) return ceil_of(sum_of_types(*value), nodes);
    for (auto const* name : {"gpus-per-task", "tres-per-task"}) {
        auto const value = args.find(name);
        if (value) return tasks * (name[0] == 'g' ? sum_of_types(*value) : gpus_of_gres(*value));
    }
    return 0;
}

/// The shape that the header asks for, for lists and messages: a GPU is a slot, else a task is one. What a
/// run gets is what its allocation has.
TrialShape shape_of(SbatchArgs const& args, site::Pool const& pool) {
    TrialShape shape;
    shape.nodes = std::max(1, first_number(args.find("nodes")).value_or(1));
    auto const tasks = std::max(1, header_tasks_per_node(args, shape.nodes));
    auto const gpus = gpus_per_node(args, shape.nodes, tasks);
    shape.slots_per_node = gpus > 0 ? gpus : tasks;
    if (gpus > 0) shape.slot_type = pool.slot_type == SlotType::cpu ? SlotType::cuda : pool.slot_type;
    return shape;
}

/// The pool of the header's first partition, else a pool with only its name: Slurm says if there is none.
site::Pool pool_of_partition(site::Site const& site, std::string_view partition) {
    for (auto const& pool : site.pools) {
        if (pool.partition == partition) return pool;
    }
    site::Pool pool;
    pool.name = pool.partition = std::string(partition);
    return pool;
}

/// The pool that the configuration names, else that of the header's partition, else the default one.
Result<site::Pool> find_script_pool(ExperimentConfig const& config, site::Site const& site) {
    auto const& name = config.resources.resource_pool;
    auto const partition = config.slurm.sbatch_args.find("partition");
    if (name.empty() && partition) return pool_of_partition(site, partition->substr(0, partition->find(',')));
    return site::require_pool(site, {name, 1});
}

/// Each task of the script's array is a trial, and nothing else is one.
Status set_array(SubmissionPlan& plan, search::Search const& search) {
    auto& script = *plan.batch_script;
    plan.trial_count = search.trial_count();
    plan.concurrent_trials_max = search.concurrent_trials_max();
    auto const array = plan.sbatch_args.find("array");
    if (!array) return Ok{};
    DET_TRY_ASSIGN(auto expression, config::parse_array_expression(*array));
    if (expression.task_ids.size() != plan.trial_count) {
        return Error{
            codes::bad_value,
            fmt::format("the array of the batch script has {} tasks, and the search has {} trials: each task "
                        "is a trial",
                        expression.task_ids.size(), plan.trial_count),
            "leave searcher and hyperparameters to the script's --array, or remove the --array"};
    }
    script.indices = std::move(expression.indices);
    script.task_ids = std::move(expression.task_ids);
    return Ok{};
}

/// Counts the nodes of the pool. Unknown for a partition that Slurm does not show.
void count_nodes(SubmissionPlan& plan) {
    for (auto const& kind : plan.pool.kinds) plan.nodes_up += kind.up_count();
    plan.nodes_max = plan.pool.kinds.empty() ? plan.shape.nodes : plan.pool.node_count;
    if (plan.pool.kinds.empty()) plan.nodes_up = plan.shape.nodes;
}

}  // namespace

Result<SubmissionPlan, Diagnostics> plan_batch_script(ExperimentConfig const& config, site::Site const& site,
                                                      std::string wckey) {
    SubmissionPlan plan;
    plan.batch_script.emplace();
    plan.batch_script->job_name = std::filesystem::path(config.slurm.batch_script).filename().string();
    plan.batch_script->uses_pool = !config.resources.resource_pool.empty();
    plan.sbatch_args = config.slurm.sbatch_args;
    auto pool = find_script_pool(config, site);
    if (!pool) return with_location(config, "resources.resource_pool", std::move(pool).error());
    plan.pool = *std::move(pool);
    if (site.accounting) {
        plan.pool.rules = site::find_job_rules(
            *site.accounting, plan.pool,
            {plan.sbatch_args.find("account").value_or(""), plan.sbatch_args.find("qos").value_or("")});
    }
    plan.expedites_requeue = site.expedites_requeue;
    plan.launch = config.slurm.launch;
    plan.wckey = std::move(wckey);
    plan.shape = shape_of(plan.sbatch_args, plan.pool);
    count_nodes(plan);
    DET_TRY_ASSIGN(auto const search, plan_search(config));
    if (auto array = set_array(plan, search); !array)
        return with_location(config, array_path, std::move(array).error());
    return plan;
}

}  // namespace det::plan
