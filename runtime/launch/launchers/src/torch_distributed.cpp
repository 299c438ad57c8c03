#include <det/foundation/text.hpp>
#include <det/protocol/task_identity.hpp>

#include <fmt/format.h>

#include "planning.hpp"

namespace det::launch::launchers {
namespace {

/// torchrun substitutes ${local_rank} in arguments and turns "$$" into "$", so all other dollar signs
/// are doubled.
std::string escape_dollars(std::string_view word) {
    std::string text;
    for (std::size_t i = 0; i < word.size(); ++i) {
        bool const is_dollar = word[i] == '$' && !word.substr(i).starts_with("${local_rank}");
        text.append(is_dollar ? "$$" : word.substr(i, 1));
    }
    return text;
}

/// torch.distributed.run always asks for libuv where the ranks meet, and fails without it, whatever USE_LIBUV
/// is; the ranks themselves obey USE_LIBUV.
Result<LaunchPlan> plan_without_torchrun(std::vector<std::string> const& command, LaunchContext context) {
    auto& environment = context.environment;
    if (!environment.find("USE_LIBUV")) environment.set("USE_LIBUV", "0");
    environment.set("USE_TORCH_DISTRIBUTED", "True");
    return plan_processes(command, std::move(context));
}

}  // namespace

bool needs_redirects(std::string_view answer) {
    auto const words = split(trim(answer), ' ');  // "3 11 1.13.1"
    if (words.size() != 3) return false;
    auto const minor = parse_integer<int>(words[1]);
    return words[0] == "3" && minor && *minor >= 11 && words[2].starts_with("1.");
}

bool lacks_libuv(std::string_view answer) { return trim(answer).ends_with(" no-libuv"); }

bool uses_torchrun(std::vector<std::string> const& arguments, Environment const& environment) {
    if (!environment.find_non_empty(variables::warm_start)) return true;
    auto const parts = split_arguments("torch_distributed", arguments);
    return parts && !parts->overrides.empty();
}

Result<LaunchPlan> plan_torch_distributed(std::vector<std::string> const& arguments, LaunchContext context) {
    DET_TRY_ASSIGN(auto const parts, split_arguments("torch_distributed", arguments));
    // With options of torchrun, only torchrun can be meant.
    if (context.torch_lacks_libuv && parts.overrides.empty())
        return plan_without_torchrun(parts.command, std::move(context));
    DET_TRY_ASSIGN(auto const nodes, read_nodes(context.rendezvous));
    if (!uses_torchrun(arguments, context.environment)) {
        auto& environment = context.environment;
        if (nodes.own_slots() > 1 && !environment.find("OMP_NUM_THREADS"))
            environment.set("OMP_NUM_THREADS", "1");  // as torchrun does
        return plan_without_torchrun(parts.command, std::move(context));
    }
    DET_TRY_ASSIGN(auto const port, rendezvous_port(context.environment));
    std::vector<std::string> argv{"python3",
                                  "-m",
                                  "torch.distributed.run",
                                  "--nnodes",
                                  std::to_string(nodes.hosts.size()),
                                  "--nproc_per_node",
                                  std::to_string(nodes.own_slots()),
                                  "--node_rank",
                                  std::to_string(nodes.own),
                                  "--max_restarts",
                                  "0",
                                  "--master_addr",
                                  chief_name(nodes, context.environment),
                                  "--master_port",
                                  std::to_string(port),
                                  "--no_python"};
    if (context.torch_needs_redirects) {
        argv.insert(argv.end(), {"--redirects", "9:1", "--tee", "9:1"});
    }
    argv.insert(argv.end(), parts.overrides.begin(), parts.overrides.end());
    auto const rank = worker_command(context, "RANK", parts.command);
    argv.push_back(rank.front());
    for (auto word = rank.begin() + 1; word != rank.end(); ++word) argv.push_back(escape_dollars(*word));

    auto& environment = context.environment;
    environment.set("USE_TORCH_DISTRIBUTED", "True");
    environment.set("DET_CHIEF_IP", nodes.hosts.front());
    LaunchPlan plan;
    plan.processes.push_back({std::move(argv), std::move(environment)});
    if (nodes.is_chief()) plan.port = port;
    return plan;
}

}  // namespace det::launch::launchers
