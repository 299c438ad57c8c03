#pragma once
#include <det/protocol/document.hpp>
#include <det/protocol/ids.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

// What a task may ask about its place on the cluster: four JSON files in DET_RUN_DIR/info with Determined's
// names and keys, made once per node. Addresses of peers are resolved when asked for, never here.

/// info/cluster.json
struct ClusterInfo {
    std::string master_url;
    std::string cluster_id;
    std::string agent_id;  // this node
    std::vector<int> slot_ids;
    std::string task_id;        // "7.3"
    std::string allocation_id;  // "7.3.2"
    std::string session_token;
    std::string task_type = "TRIAL";
    std::optional<std::string> latest_checkpoint;
    friend bool operator==(ClusterInfo const&, ClusterInfo const&) = default;
};

/// info/trial.json
struct TrialInfo {
    TrialId trial;
    std::uint32_t trial_run_id = 0;
    std::uint32_t trial_seed = 0;
    JsonValue hparams;
    JsonValue config;
    std::uint64_t steps_completed = 0;
    bool debug = false;
    std::optional<std::string> inter_node_network_interface;
    friend bool operator==(TrialInfo const&, TrialInfo const&) = default;
};

/// How this node reaches the others. Empty where there are none, or where it could not be found out.
struct NodeNetwork {
    std::string chief_address;  // of the first node, IPv4 or IPv6, as this one reaches it
    std::string address;        // of this node
    std::string interface;      // "eth0"; several that were configured: "hsn0,hsn1"
    friend bool operator==(NodeNetwork const&, NodeNetwork const&) = default;
};

/// info/rendezvous.json: nodes of the run in rank order. Kept compressed; the file also has Determined's
/// container_addrs (host names) and container_slot_counts, spelled out.
struct RendezvousInfo {
    std::string hosts;        // "n[0-3]"
    std::string slot_counts;  // "4(x2),3"
    int container_rank = 0;   // which of the nodes this is
    NodeNetwork network = {};
    friend bool operator==(RendezvousInfo const&, RendezvousInfo const&) = default;
};

/// info/resources.json
struct ResourcesInfo {
    std::vector<std::string> gpu_uuids;
    friend bool operator==(ResourcesInfo const&, ResourcesInfo const&) = default;
};

std::string render_cluster_info(ClusterInfo const& info);
std::string render_trial_info(TrialInfo const& info);
Result<std::string> render_rendezvous_info(RendezvousInfo const& info);
std::string render_resources_info(ResourcesInfo const& info);

Result<ClusterInfo> parse_cluster_info(std::string_view text);
Result<TrialInfo> parse_trial_info(std::string_view text);
Result<RendezvousInfo> parse_rendezvous_info(std::string_view text);
Result<ResourcesInfo> parse_resources_info(std::string_view text);

/// The global rank of a local one: the slots of the nodes before are counted, so nodes may differ.
Result<Rank> global_rank(RendezvousInfo const& info, int local_rank);

namespace info_files {
inline constexpr char directory[] = "info";
inline constexpr char cluster[] = "cluster.json";
inline constexpr char trial[] = "trial.json";
inline constexpr char rendezvous[] = "rendezvous.json";
inline constexpr char resources[] = "resources.json";
inline constexpr char spec[] =
    "spec.json";  // a copy of the experiment's, so that ranks need not read shared files
}  // namespace info_files

}  // namespace det
