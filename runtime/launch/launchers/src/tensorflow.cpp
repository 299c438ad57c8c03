#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

#include <fmt/format.h>

#include "planning.hpp"

namespace det::launch::launchers {
namespace {

/// TF_CONFIG, from which TensorFlow's MultiWorkerMirroredStrategy takes the addresses of all workers.
std::string tf_config(Nodes const& nodes, std::uint16_t port) {
    auto workers = Json::array();
    for (auto const& host : nodes.hosts) workers.push_back(fmt::format("{}:{}", host, port));
    return to_line(
        Json{{"cluster", {{"worker", workers}}}, {"task", {{"type", "worker"}, {"index", nodes.own}}}});
}

Error tensorflow_usage(std::string message) {
    return {codes::usage, "det-launch tensorflow: " + std::move(message),
            "det-launch tensorflow [--port PORT] [--] CMD..."};
}

}  // namespace

Result<LaunchPlan> plan_tensorflow(std::vector<std::string> const& arguments, LaunchContext context) {
    DET_TRY_ASSIGN(auto const nodes, read_nodes(context.rendezvous));
    DET_TRY_ASSIGN(auto port, rendezvous_port(context.environment));
    auto word = arguments.begin();
    if (word != arguments.end() && *word == "--port") {
        auto const given = ++word == arguments.end() ? std::nullopt : parse_integer<std::uint16_t>(*word);
        if (!given || *given == 0) return tensorflow_usage("--port takes a port");
        port = *given;
        ++word;
    }
    if (word != arguments.end() && *word == "--") ++word;
    if (word == arguments.end()) return tensorflow_usage("a command is missing");
    if (word->starts_with('-')) return tensorflow_usage(fmt::format("unknown option '{}'", *word));

    TaskIdentity rank;  // a process per node, which uses all its slots
    rank.rank = rank.cross_rank = nodes.own;
    rank.size = rank.cross_size = static_cast<int>(nodes.hosts.size());
    rank.local_size = 1;
    rank.chief_host = nodes.hosts.front();
    auto const host_suffix = context.environment.find(variables::host_suffix).value_or("");
    for (auto& [name, value] : rank_variables(rank, host_suffix)) context.environment.set(name, value);
    context.environment.set("MASTER_PORT", std::to_string(port));
    context.environment.set("DET_CHIEF_IP", nodes.hosts.front());
    context.environment.set("TF_CONFIG", tf_config(nodes, port));
    LaunchPlan plan;
    plan.processes.push_back(
        {worker_command(context, "RANK", {word, arguments.end()}), std::move(context.environment)});
    plan.port = port;  // every worker listens
    return plan;
}

}  // namespace det::launch::launchers
