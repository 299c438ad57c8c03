#include <det/foundation/text.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <numeric>

#include "json_fields.hpp"

namespace det {
namespace {

std::string render(Json const& json) { return to_lines(json, 1) + "\n"; }

// Keys of Determined that are always null here.
void read_nothing(ClusterInfo&, Json const&) {}
void write_null(ClusterInfo const&, Json& json) { json = nullptr; }

// The number of a trial in Determined contains that of its experiment.
void read_trial(TrialInfo& info, Json const& json) {
    info.trial.index = static_cast<std::uint32_t>(json.get<std::uint64_t>() % trials_per_experiment_max);
}
void write_trial(TrialInfo const& info, Json& json) { json = to_integer(info.trial); }
void read_experiment(TrialInfo& info, Json const& json) { read_value(json, info.trial.experiment); }
void write_experiment(TrialInfo const& info, Json& json) { write_value(json, info.trial.experiment); }

}  // namespace

template <>
inline constexpr JsonField json_fields<ClusterInfo>[] = {
    field<&ClusterInfo::master_url>("master_url"),
    field<&ClusterInfo::cluster_id>("cluster_id"),
    field<&ClusterInfo::agent_id>("agent_id"),
    field<&ClusterInfo::slot_ids>("slot_ids"),
    field<&ClusterInfo::task_id>("task_id"),
    field<&ClusterInfo::allocation_id>("allocation_id"),
    field<&ClusterInfo::session_token>("session_token"),
    field<&ClusterInfo::task_type>("task_type"),
    absent_in_old(computed_field<read_nothing, write_null>("master_cert_name")),
    absent_in_old(computed_field<read_nothing, write_null>("master_cert_file")),
    absent_in_old(field<&ClusterInfo::latest_checkpoint>("latest_checkpoint")),
    absent_in_old(field<&ClusterInfo::latest_checkpoint_sha256>("latest_checkpoint_sha256")),
};

template <>
inline constexpr JsonField json_fields<TrialInfo>[] = {
    computed_field<read_trial, write_trial>("trial_id"),
    computed_field<read_experiment, write_experiment>("experiment_id"),
    field<&TrialInfo::trial_run_id>("trial_run_id"),
    field<&TrialInfo::trial_seed>("trial_seed"),
    field<&TrialInfo::hparams>("hparams"),
    field<&TrialInfo::config>("config"),
    field<&TrialInfo::steps_completed>("steps_completed"),
    field<&TrialInfo::debug>("debug"),
    absent_in_old(field<&TrialInfo::inter_node_network_interface>("inter_node_network_interface")),
};

template <>
inline constexpr JsonField json_fields<NodeNetwork>[] = {
    absent_in_old(field<&NodeNetwork::chief_address>("chief_addr")),
    absent_in_old(field<&NodeNetwork::address>("container_addr")),
    absent_in_old(field<&NodeNetwork::interface>("network_interface")),
};

template <>
inline constexpr JsonField json_fields<RendezvousInfo>[] = {
    field<&RendezvousInfo::hosts>("hosts"),
    field<&RendezvousInfo::slot_counts>("slot_counts"),
    field<&RendezvousInfo::container_rank>("container_rank"),
};

template <>
inline constexpr JsonField json_fields<ResourcesInfo>[] = {
    field<&ResourcesInfo::gpu_uuids>("gpu_uuids"),
};

namespace {

template <HasJsonFields Info>
Result<Info> parse(std::string_view what, std::string_view text) {
    DET_TRY_ASSIGN(auto const json, decode_json(what, [&] { return parse_json(text); }));
    return fields_from_json<Info>(what, json);
}

}  // namespace

std::string render_cluster_info(ClusterInfo const& info) { return render(fields_to_json(info)); }
Result<ClusterInfo> parse_cluster_info(std::string_view text) {
    return parse<ClusterInfo>(info_files::cluster, text);
}

std::string render_trial_info(TrialInfo const& info) { return render(fields_to_json(info)); }
Result<TrialInfo> parse_trial_info(std::string_view text) {
    return parse<TrialInfo>(info_files::trial, text);
}

Result<std::string> render_rendezvous_info(RendezvousInfo const& info) {
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(info.hosts));
    DET_TRY_ASSIGN(auto const counts, expand_counts(info.slot_counts));
    auto json = fields_to_json(info);
    write_fields(json, json_fields<NodeNetwork>, &info.network);
    write_value(json["container_addrs"], hosts);
    write_value(json["container_slot_counts"], counts);
    return render(json);
}

Result<RendezvousInfo> parse_rendezvous_info(std::string_view text) {
    DET_TRY_ASSIGN(auto info, parse<RendezvousInfo>(info_files::rendezvous, text));
    DET_TRY_ASSIGN(info.network, parse<NodeNetwork>(info_files::rendezvous, text));
    return info;
}

std::string render_resources_info(ResourcesInfo const& info) { return render(fields_to_json(info)); }
Result<ResourcesInfo> parse_resources_info(std::string_view text) {
    return parse<ResourcesInfo>(info_files::resources, text);
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
