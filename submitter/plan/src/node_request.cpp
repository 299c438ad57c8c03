// What a job requests on each of its nodes: a whole node, or a share of one.
#include <det/foundation/count_text.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "plan_steps.hpp"

namespace det::plan {
namespace {

using config::ExperimentConfig;

constexpr char exclusive_path[] = "slurm.exclusive";

bool has_arg(config::SbatchArgs const& args, std::initializer_list<std::string_view> names) {
    return std::any_of(args.args.begin(), args.args.end(), [&](auto const& arg) {
        return std::find(names.begin(), names.end(), arg.name) != names.end();
    });
}

/// The part of a node that a job uses: `slots` of `of`.
struct Share {
    int slots = 1;
    int of = 1;

    std::int64_t of_amount(std::int64_t amount) const { return amount * slots / std::max(1, of); }
};

int shared_cpus(Share const& share, site::NodeKind const& kind, std::uint32_t lanes) {
    auto const least = static_cast<std::int64_t>(lanes);
    return static_cast<int>(std::max(least, share.of_amount(kind.cpus)));
}

/// The memory of a job that shares a node, in MiB; nothing if Slurm does not report the node's memory.
std::optional<std::int64_t> shared_memory_mib(Share const& share, site::NodeKind const& kind,
                                              slurm::MemoryLimit const& limit, int cpus) {
    if (kind.memory_mib <= 1) return std::nullopt;  // 1 is Slurm's default of RealMemory
    auto memory = share.of_amount(kind.memory_mib);
    if (limit.per_node_mib) memory = std::min(memory, *limit.per_node_mib);
    if (limit.per_cpu_mib) memory = std::min(memory, *limit.per_cpu_mib * cpus);
    return std::max<std::int64_t>(1, memory);
}

std::string hint_about_unused_slots(SubmissionPlan const& plan) {
    std::string const packing =
        "let more trials share it with slurm.trials_per_node and max_concurrent_trials";
    bool const can_pack = plan.trial_count > 1;
    if (plan.pool.has_only_whole_nodes) {
        auto const why = fmt::format("partition '{}' has OverSubscribe=EXCLUSIVE", plan.pool.partition);
        return can_pack ? fmt::format("{}; {}", packing, why) : fmt::format("use all of its slots: {}", why);
    }
    return fmt::format(
        "{}set 'slurm: {{exclusive: false}}' to hold only what it asks for, or '{{exclusive: true}}' if "
        "nothing else may run there",
        can_pack ? packing + "; or " : "");
}

}  // namespace

bool is_exclusive(ExperimentConfig const& config, site::Pool const& pool, NodeSelection const& selection) {
    if (pool.has_only_whole_nodes || has_arg(config.slurm.sbatch_args, {"exclusive"})) return true;
    if (config.slurm.exclusive) return *config.slurm.exclusive;
    bool const needs_part = selection.shape.slots_per_node < selection.kind.slots_per_node;
    if (config.resources.is_single_node && needs_part) return false;
    return pool.is_exclusive;
}

NodeRequest request_node(SubmissionPlan const& plan, NodeSelection const& selection) {
    auto const& kind = selection.kind;
    auto const& args = plan.sbatch_args;
    auto const lanes = static_cast<int>(plan.lanes);
    NodeRequest node;
    node.is_exclusive = plan.node.is_exclusive;
    // A trial without slots uses as much of a node as a trial of one slot.
    Share const share{plan.shape.ranks_per_node() * lanes, kind.slots_per_node};
    node.slots = node.is_exclusive ? kind.slots_per_node : share.slots;
    bool const asks_for_gpus = plan.shape.slot_type != SlotType::cpu && plan.pool.has_gres;
    if (asks_for_gpus) node.gpus = node.is_exclusive ? plan.pool.slots_per_node : share.slots;
    auto const cpus = shared_cpus(share, kind, plan.lanes);
    if (!node.is_exclusive && !has_arg(args, {"cpus-per-task", "cpus-per-gpu"})) node.cpus = cpus;
    if (!plan.pool.has_whole_memory || has_arg(args, {"mem", "mem-per-cpu", "mem-per-gpu"})) return node;
    node.memory_mib = node.is_exclusive ? site::memory_limit_mib(plan.pool, kind).value_or(0)
                                        : shared_memory_mib(share, kind, plan.pool.memory_max, cpus);
    return node;
}

void warn_of_node_use(ExperimentConfig const& config, SubmissionPlan const& plan, Diagnostics& found) {
    if (plan.pool.may_have_hidden_gpus && plan.shape.slots_per_node > 0) {
        found.warn(with_location(
            config, slots_path,
            Error{codes::slots_do_not_fit,
                  fmt::format("the slots of pool '{}' are CPUs, because Slurm hides the nodes from you "
                              "(PrivateData=nodes): if they have GPUs, the job does not ask for them",
                              plan.pool.name),
                  fmt::format("state its slots in the site file: pools: [{{name: {}, slot_type: cuda, "
                              "slots_per_node: GPUs of a node}}], or slot_type: cpu; 'sbatch --test-only "
                              "--partition={} --gres=gpu:4 --wrap true' tells whether a node has 4",
                              plan.pool.name, plan.pool.partition)}));
    }
    if (plan.pool.has_only_whole_nodes && config.slurm.exclusive == false) {
        found.warn(with_location(
            config, exclusive_path,
            Error{codes::not_supported,
                  fmt::format("slurm.exclusive is false, but partition '{}' gives whole nodes only",
                              plan.pool.partition),
                  "use another pool, or remove it"}));
    }
    if (has_arg(config.slurm.sbatch_args, {"exclusive"}) && config.slurm.exclusive != false &&
        plan.pool.is_exclusive) {
        found.warn(
            with_location(config, "slurm.sbatch_args",
                          Error{codes::not_supported,
                                "--exclusive has no effect: jobs get whole nodes anyway", "remove it"}));
    }
    bool const is_wanted = config.slurm.exclusive == true || has_arg(config.slurm.sbatch_args, {"exclusive"});
    auto const held = std::int64_t{plan.shape.nodes} * plan.node.slots;
    auto const asked = std::int64_t{plan.shape.nodes} * plan.shape.slots_per_node * plan.lanes;
    if (!plan.node.is_exclusive || is_wanted || asked >= held) return;
    auto const who =
        plan.lanes == 1 ? std::string("a trial asks") : fmt::format("the {} trials of a job ask", plan.lanes);
    found.warn(with_location(config, slots_path,
                             Error{codes::idle_slots,
                                   fmt::format("{} for {}, and its job holds {}: jobs get whole nodes", who,
                                               count_text(asked, "slot"), held),
                                   hint_about_unused_slots(plan)}));
}

}  // namespace det::plan
