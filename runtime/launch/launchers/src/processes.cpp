#include <det/protocol/task_identity.hpp>

#include "planning.hpp"

namespace det::launch::launchers {

Result<LaunchPlan> plan_processes(std::vector<std::string> const& arguments, LaunchContext context) {
    DET_TRY_ASSIGN(auto const nodes, read_nodes(context.rendezvous));
    DET_TRY_ASSIGN(auto const port, rendezvous_port(context.environment));
    context.environment.set("MASTER_PORT", std::to_string(port));
    context.environment.set("DET_CHIEF_IP", nodes.hosts.front());
    TaskIdentity rank;
    rank.size = nodes.ranks();
    rank.local_size = nodes.own_slots();
    rank.cross_rank = nodes.own;
    rank.cross_size = static_cast<int>(nodes.hosts.size());
    rank.chief_host = nodes.hosts.front();
    auto const host_suffix = context.environment.find(variables::host_suffix).value_or("");

    std::vector<std::string> command;
    if (context.environment.find_non_empty(variables::warm_start))
        command = {context.det_launch, "warm-start"};
    command.insert(command.end(), arguments.begin(), arguments.end());

    LaunchPlan plan;
    for (rank.local_rank = 0; rank.local_rank < rank.local_size; ++rank.local_rank) {
        rank.rank = nodes.ranks_before() + rank.local_rank;
        auto environment = context.environment;
        for (auto& [name, value] : rank_variables(rank, host_suffix)) environment.set(name, value);
        plan.processes.push_back({worker_command(context, "RANK", command), std::move(environment)});
    }
    if (nodes.is_chief()) plan.port = port;
    return plan;
}

}  // namespace det::launch::launchers
