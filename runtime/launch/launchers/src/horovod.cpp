#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "planning.hpp"

namespace det::launch::launchers {
namespace {

/// The argument of horovodrun's --hosts: "localhost:4,n1:4".
std::string host_slots(Nodes const& nodes) {
    std::string text;
    for (std::size_t i = 0; i < nodes.hosts.size(); ++i) {
        text +=
            fmt::format("{}{}:{}", i == 0 ? "" : ",", i == 0 ? "localhost" : nodes.hosts[i], nodes.slots[i]);
    }
    return text;
}

/// The options of horovodrun for the section `optimizations` of a configuration.
std::vector<std::string> fusion_options(Json const& config) {
    auto const section = config.value("optimizations", Json::object());
    auto const optimizations = section.is_object() ? section : Json::object();
    if (optimizations.value("auto_tune_tensor_fusion", false)) {
        return {"--autotune", "--autotune-log-file", "/tmp/autotune_log.csv"};
    }
    return {"--fusion-threshold-mb", std::to_string(optimizations.value("tensor_fusion_threshold", 64)),
            "--cycle-time-ms", std::to_string(optimizations.value("tensor_fusion_cycle_time", 1))};
}

/// The user's options in data.__det_dtrain_args of a configuration.
std::vector<std::string> extra_options(Json const& config) {
    auto const data = config.value("data", Json::object());
    std::vector<std::string> options;
    if (!data.is_object() || !data.contains("__det_dtrain_args")) return options;
    for (auto const& option : data.at("__det_dtrain_args")) {
        if (option.is_string()) options.push_back(option);
    }
    return options;
}

}  // namespace

Result<LaunchPlan> plan_horovod(std::vector<std::string> const& arguments, LaunchContext context) {
    DET_TRY_ASSIGN(auto const parts, split_arguments("horovod", arguments));
    DET_TRY_ASSIGN(auto const nodes, read_nodes(context.rendezvous));
    if (!nodes.is_chief()) return plan_waiting_node();
    LaunchPlan plan;
    plan.waiting_nodes = nodes.all_but_chief();

    std::vector<std::string> argv{"horovodrun", "-np", std::to_string(nodes.ranks()), "-H",
                                  host_slots(nodes)};
    auto const add = [&](std::vector<std::string> const& more) {
        argv.insert(argv.end(), more.begin(), more.end());
    };
    add({"--start-timeout", "1200", "--gloo-timeout-seconds", "240"});
    if (!nodes.is_single() && context.network_interface) {
        add({"--network-interface", *context.network_interface});
    }
    auto const options = decode_json("the configuration", [&] { return fusion_options(*context.config); });
    if (!options) return options.error();
    add(*options);
    add({"--cache-capacity", "1024", "--no-hierarchical-allreduce", "--no-hierarchical-allgather"});
    bool const is_debug = context.config->contains("debug") && context.config->at("debug") == true;
    if (is_debug) add({"--verbose"});
    add(extra_options(*context.config));
    add(parts.overrides);
    if (is_debug) add({"--mpi-args=-v --display-map"});
    add({"--"});
    add(worker_command(context, "HOROVOD_RANK,OMPI_COMM_WORLD_RANK,PMI_RANK", parts.command));

    use_remote_shell(plan, context);
    auto& environment = context.environment;
    environment.set("USE_HOROVOD", "1");
    environment.set("DET_CHIEF_IP", nodes.hosts.front());
    // If SLURM_JOBID is set, the Open MPI that horovodrun calls starts its daemons through Slurm, and starts
    // a wrong number of them.
    environment.unset("SLURM_JOBID");
    plan.processes.push_back({std::move(argv), std::move(environment)});
    return plan;
}

}  // namespace det::launch::launchers
