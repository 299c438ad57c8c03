#include <fmt/format.h>

#include "planning.hpp"

namespace det::launch::launchers {
namespace {

std::string render_hostfile(Nodes const& nodes) {
    std::string text;
    for (std::size_t i = 0; i < nodes.hosts.size(); ++i) {
        text += fmt::format("{} slots={}\n", nodes.hosts[i], nodes.slots[i]);
    }
    return text;
}

}  // namespace

Result<LaunchPlan> plan_deepspeed(std::vector<std::string> const& arguments, LaunchContext context) {
    DET_TRY_ASSIGN(auto const parts, split_arguments("deepspeed", arguments));
    DET_TRY_ASSIGN(auto const nodes, read_nodes(context.rendezvous));
    DET_TRY_ASSIGN(auto const port, rendezvous_port(context.environment));
    if (!nodes.is_chief()) return plan_waiting_node();
    LaunchPlan plan;
    plan.waiting_nodes = nodes.all_but_chief();
    plan.fails_with_remote_commands = true;

    auto& environment = context.environment;
    std::vector<std::string> argv{"deepspeed"};
    if (nodes.is_single()) {
        argv.insert(argv.end(), {"--num_gpus", std::to_string(nodes.own_slots())});
    } else {
        auto const hostfile = context.run_dir / "hostfile";
        plan.files.push_back({hostfile, render_hostfile(nodes)});
        argv.insert(argv.end(), {"-H", hostfile});
        environment.set("DET_DEEPSPEED_HOSTFILE_PATH", hostfile);
    }
    argv.insert(argv.end(), {"--master_addr", chief_name(nodes, environment), "--master_port",
                             std::to_string(port), "--no_python", "--no_local_rank", "--no_ssh_check"});
    argv.insert(argv.end(), parts.overrides.begin(), parts.overrides.end());
    argv.push_back("--");
    auto const rank = worker_command(context, "RANK", parts.command);
    argv.insert(argv.end(), rank.begin(), rank.end());

    use_remote_shell(plan, context);
    environment.set("USE_DEEPSPEED", "1");
    environment.set("DET_CHIEF_IP", nodes.hosts.front());
    environment.set("PDSH_RCMD_TYPE", "ssh");
    plan.processes.push_back({std::move(argv), std::move(environment)});
    plan.port = port;
    return plan;
}

}  // namespace det::launch::launchers
