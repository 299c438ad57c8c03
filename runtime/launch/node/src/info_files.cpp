#include "info_files.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/network.hpp>
#include <det/launch/node/network_variables.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/launch_options.hpp>

#include <fmt/format.h>

#include "gpus.hpp"

namespace det::launch::node {
namespace {

/// Parses DET_SLOT_IDS: "[0, 1, 2]".
std::vector<int> parse_slot_ids(std::string_view text) {
    auto const json = try_parse_json(text);
    auto const slots = decode_json("DET_SLOT_IDS", [&] { return json.get<std::vector<int>>(); });
    return slots.value_or(std::vector<int>{0});
}

ClusterInfo describe_cluster(Environment const& environment) {
    auto const text = [&](std::string_view name) { return environment.find(name).value_or(""); };
    ClusterInfo cluster;
    cluster.cluster_id = text(variables::cluster_id);
    cluster.agent_id = text(variables::agent_id);
    cluster.slot_ids = parse_slot_ids(text(variables::slot_ids));
    cluster.task_id = text(variables::task_id);
    cluster.allocation_id = text(variables::allocation_id);
    cluster.task_type = environment.find_non_empty(variables::task_type).value_or("COMMAND");
    cluster.latest_checkpoint = environment.find_non_empty(variables::latest_checkpoint);
    cluster.latest_checkpoint_sha256 = environment.find_non_empty(variables::latest_checkpoint_sha256);
    return cluster;
}

/// If the slot counts of the other nodes are unknown, they are assumed to equal this node's.
std::string slot_counts(Environment const& environment, std::size_t own, std::size_t nodes) {
    if (auto counts = environment.find_non_empty(variables::slot_counts)) return *std::move(counts);
    return compress_counts(std::vector<int>(nodes, static_cast<int>(own)));
}

std::string own_gpus(Environment const& environment) {
    auto const step = environment.find_non_empty("SLURM_STEP_GPUS");
    return step ? *step : environment.find("SLURM_JOB_GPUS").value_or("");
}

}  // namespace

Result<Variables> write_info_files(std::filesystem::path const& info, int node,
                                   Environment const& environment) {
    auto const cluster = describe_cluster(environment);
    DET_TRY(write_file(info / info_files::cluster, render_cluster_info(cluster)));

    auto const compressed = environment.find(variables::run_hosts).value_or("");
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(compressed));
    auto const network = detect_network(hosts, node, environment);
    auto const counts = slot_counts(environment, cluster.slot_ids.size(), hosts.size());
    DET_TRY_ASSIGN(auto const rendezvous, render_rendezvous_info({compressed, counts, node, network}));
    DET_TRY(write_file(info / info_files::rendezvous, rendezvous));
    auto gpus = list_gpu_uuids(own_gpus(environment));
    if (gpus.empty()) gpus = list_amd_gpu_uuids(own_gpus(environment));
    DET_TRY(write_file(info / info_files::resources, render_resources_info({std::move(gpus)})));
    if (network.interface.empty()) return Variables{};
    Variables found{{variables::inter_node_network_interface, network.interface}};
    // Scripts of users have the variables of their job only.
    bool const is_script = environment.find(variables::launch) == to_string(Launch::script);
    if (!environment.find_non_empty(variables::run_path) || is_script) return found;
    for (auto& variable : network_variables(network.interface, environment))
        found.push_back(std::move(variable));
    return found;
}

}  // namespace det::launch::node
