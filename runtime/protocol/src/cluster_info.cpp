#include <det/foundation/text.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <numeric>

namespace det {
namespace {

std::string render(Json const& json) { return to_lines(json, 1) + "\n"; }

Json nullable(std::optional<std::string> const& text) { return text ? Json(*text) : Json(nullptr); }

std::optional<std::string> optional_text(Json const& json, char const* key) {
    auto const found = json.find(key);
    if (found == json.end() || found->is_null()) return std::nullopt;
    return found->get<std::string>();
}

template <class Read>
auto parse(std::string_view what, std::string_view text, Read read) {
    return decode_json(what, [&] { return read(parse_json(text)); });
}

}  // namespace

std::string render_cluster_info(ClusterInfo const& info) {
    return render({{"master_url", info.master_url},
                   {"cluster_id", info.cluster_id},
                   {"agent_id", info.agent_id},
                   {"slot_ids", info.slot_ids},
                   {"task_id", info.task_id},
                   {"allocation_id", info.allocation_id},
                   {"session_token", info.session_token},
                   {"task_type", info.task_type},
                   {"master_cert_name", nullptr},
                   {"master_cert_file", nullptr},
                   {"latest_checkpoint", nullable(info.latest_checkpoint)},
                   {"latest_checkpoint_sha256", nullable(info.latest_checkpoint_sha256)}});
}

Result<ClusterInfo> parse_cluster_info(std::string_view text) {
    return parse(info_files::cluster, text, [](Json const& json) {
        return ClusterInfo{json.at("master_url"),
                           json.at("cluster_id"),
                           json.at("agent_id"),
                           json.at("slot_ids").get<std::vector<int>>(),
                           json.at("task_id"),
                           json.at("allocation_id"),
                           json.at("session_token"),
                           json.at("task_type"),
                           optional_text(json, "latest_checkpoint"),
                           optional_text(json, "latest_checkpoint_sha256")};
    });
}

std::string render_trial_info(TrialInfo const& info) {
    return render({{"trial_id", to_integer(info.trial)},
                   {"experiment_id", info.trial.experiment.value},
                   {"trial_run_id", info.trial_run_id},
                   {"trial_seed", info.trial_seed},
                   {"hparams", info.hparams},
                   {"config", info.config},
                   {"steps_completed", info.steps_completed},
                   {"debug", info.debug},
                   {"inter_node_network_interface", nullable(info.inter_node_network_interface)}});
}

Result<TrialInfo> parse_trial_info(std::string_view text) {
    return parse(info_files::trial, text, [](Json const& json) {
        auto const id = json.at("trial_id").get<std::uint64_t>();
        TrialInfo info;
        info.trial = {ExperimentId{json.at("experiment_id")},
                      static_cast<std::uint32_t>(id % trials_per_experiment_max)};
        info.trial_run_id = json.at("trial_run_id");
        info.trial_seed = json.at("trial_seed");
        info.hparams = json.at("hparams");
        info.config = json.at("config");
        info.steps_completed = json.at("steps_completed");
        info.debug = json.at("debug");
        info.inter_node_network_interface = optional_text(json, "inter_node_network_interface");
        return info;
    });
}

Result<std::string> render_rendezvous_info(RendezvousInfo const& info) {
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(info.hosts));
    DET_TRY_ASSIGN(auto const counts, expand_counts(info.slot_counts));
    return render({{"container_addrs", hosts},
                   {"container_slot_counts", counts},
                   {"container_rank", info.container_rank},
                   {"hosts", info.hosts},
                   {"slot_counts", info.slot_counts},
                   {"chief_addr", info.network.chief_address},
                   {"container_addr", info.network.address},
                   {"network_interface", info.network.interface}});
}

Result<RendezvousInfo> parse_rendezvous_info(std::string_view text) {
    return parse(info_files::rendezvous, text, [](Json const& json) {
        NodeNetwork network{json.value("chief_addr", ""), json.value("container_addr", ""),
                            json.value("network_interface", "")};
        return RendezvousInfo{json.at("hosts"), json.at("slot_counts"), json.at("container_rank"),
                              std::move(network)};
    });
}

std::string render_resources_info(ResourcesInfo const& info) {
    return render({{"gpu_uuids", info.gpu_uuids}});
}

Result<ResourcesInfo> parse_resources_info(std::string_view text) {
    return parse(info_files::resources, text, [](Json const& json) {
        return ResourcesInfo{json.at("gpu_uuids").get<std::vector<std::string>>()};
    });
}

Result<Rank> global_rank(RendezvousInfo const& info, int local_rank) {
    DET_TRY_ASSIGN(auto const counts, expand_counts(info.slot_counts));
    auto const node = static_cast<std::size_t>(info.container_rank);
    if (info.container_rank < 0 || node >= counts.size() || local_rank < 0 || local_rank >= counts[node]) {
        return Error{codes::damaged, fmt::format("node {} has no local rank {} (slots per node: {})",
                                                 info.container_rank, local_rank, info.slot_counts)};
    }
    return Rank{std::accumulate(counts.begin(), counts.begin() + info.container_rank, local_rank)};
}

}  // namespace det
