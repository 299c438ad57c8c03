#include <det/foundation/text.hpp>
#include <det/protocol/task_identity.hpp>

#include <fmt/format.h>
#include <numeric>

#include "planning.hpp"

namespace det::launch::launchers {
namespace {

Error jax_usage(std::string message) {
    return {codes::usage, "det-launch jax: " + std::move(message),
            "det-launch jax [--processes-per-node COUNT] [--] CMD..."};
}

struct JaxArguments {
    std::optional<int> processes_per_node;  // empty: one for each slot
    std::vector<std::string> command;
};

Result<JaxArguments> parse_jax_arguments(std::vector<std::string> const& arguments) {
    JaxArguments parsed;
    auto word = arguments.begin();
    if (word != arguments.end() && *word == "--processes-per-node") {
        parsed.processes_per_node = ++word == arguments.end() ? std::nullopt : parse_integer<int>(*word);
        if (!parsed.processes_per_node || *parsed.processes_per_node < 1)
            return jax_usage("--processes-per-node takes a number above 0");
        ++word;
    }
    if (word != arguments.end() && *word == "--") ++word;
    if (word == arguments.end()) return jax_usage("a command is missing");
    if (word->starts_with('-')) return jax_usage(fmt::format("unknown option '{}'", *word));
    parsed.command.assign(word, arguments.end());
    return parsed;
}

/// The number of processes of each node.
Result<std::vector<int>> count_processes(Nodes const& nodes, std::optional<int> processes_per_node) {
    if (!processes_per_node) return nodes.slots;
    for (std::size_t node = 0; node < nodes.slots.size(); ++node) {
        if (nodes.slots[node] % *processes_per_node != 0)
            return jax_usage(fmt::format("the {} slots of {} can't be divided among {} processes",
                                         nodes.slots[node], nodes.hosts[node], *processes_per_node));
    }
    return std::vector<int>(nodes.slots.size(), *processes_per_node);
}

/// The devices of the process with this local rank: "2,3".
std::string device_ids(int local_rank, int devices) {
    std::vector<int> ids(static_cast<std::size_t>(devices));
    std::iota(ids.begin(), ids.end(), local_rank * devices);
    return fmt::format("{}", fmt::join(ids, ","));
}

/// Whether the wrapper of a rank shows it one MIG instance of its own, which then is device 0.
bool has_mig_instances(Environment const& environment) {
    return environment.find("CUDA_VISIBLE_DEVICES").value_or("").starts_with("MIG-");
}

/// What jax.distributed.initialize() reads if its caller gives no arguments. JAX takes the address and the
/// devices from its own variables. For the number of processes it has none: within a job it reads Slurm's,
/// which describe the step, one task on each node. So they are set to those of a step that has a task for
/// each process. Only the program gets them: the wrapper and the launcher still need those of the real step.
std::vector<std::string> jax_assignments(TaskIdentity const& rank, std::string const& coordinator,
                                         std::string const& devices) {
    return {"JAX_COORDINATOR_ADDRESS=" + coordinator,    fmt::format("JAX_NUM_PROCESSES={}", rank.size),
            fmt::format("JAX_PROCESS_ID={}", rank.rank), "JAX_LOCAL_DEVICE_IDS=" + devices,
            fmt::format("SLURM_NTASKS={}", rank.size),   fmt::format("SLURM_STEP_NUM_TASKS={}", rank.size),
            fmt::format("SLURM_PROCID={}", rank.rank),   fmt::format("SLURM_LOCALID={}", rank.local_rank)};
}

}  // namespace

Result<LaunchPlan> plan_jax(std::vector<std::string> const& arguments, LaunchContext context) {
    DET_TRY_ASSIGN(auto const parsed, parse_jax_arguments(arguments));
    DET_TRY_ASSIGN(auto const nodes, read_nodes(context.rendezvous));
    DET_TRY_ASSIGN(auto const port, rendezvous_port(context.environment));
    DET_TRY_ASSIGN(auto const processes, count_processes(nodes, parsed.processes_per_node));
    context.environment.set("MASTER_PORT", std::to_string(port));
    context.environment.set("DET_CHIEF_IP", nodes.hosts.front());
    auto const coordinator = fmt::format("{}:{}", chief_name(nodes, context.environment), port);
    auto const own = processes.begin() + nodes.own;
    bool const has_mig = has_mig_instances(context.environment);
    if (has_mig && *own != nodes.own_slots())
        return jax_usage("a process can't have several MIG instances: leave --processes-per-node out");

    TaskIdentity rank;
    rank.size = std::accumulate(processes.begin(), processes.end(), 0);
    rank.local_size = *own;
    rank.cross_rank = nodes.own;
    rank.cross_size = static_cast<int>(nodes.hosts.size());
    rank.chief_host = nodes.hosts.front();
    auto const host_suffix = context.environment.find(variables::host_suffix).value_or("");

    LaunchPlan plan;
    for (rank.local_rank = 0; rank.local_rank < rank.local_size; ++rank.local_rank) {
        rank.rank = std::accumulate(processes.begin(), own, rank.local_rank);
        auto environment = context.environment;
        for (auto& [name, value] : rank_variables(rank, host_suffix)) environment.set(name, value);
        std::vector<std::string> command{"env"};
        auto const devices = has_mig ? "0" : device_ids(rank.local_rank, nodes.own_slots() / rank.local_size);
        for (auto& assignment : jax_assignments(rank, coordinator, devices))
            command.push_back(std::move(assignment));
        command.insert(command.end(), parsed.command.begin(), parsed.command.end());
        plan.processes.push_back({worker_command(context, "RANK", command), std::move(environment)});
    }
    if (nodes.is_chief()) plan.port = port;
    return plan;
}

}  // namespace det::launch::launchers
