#pragma once
#include <det/protocol/document.hpp>
#include <det/protocol/ids.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

// What a task can read about its run and its node: four JSON files in DET_RUN_DIR/info with Determined's
// names and keys. They are made once per node and run. For other nodes they contain host names, and an
// address only for the chief; other addresses are resolved on demand.

/// info/cluster.json
struct ClusterInfo {
    std::string master_url;
    std::string cluster_id;
    std::string agent_id;  // name of this node
    std::vector<int> slot_ids;
    std::string task_id;        // "7.3"
    std::string allocation_id;  // "7.3.2"
    std::string session_token;
    std::string task_type = "TRIAL";
    std::optional<std::string> latest_checkpoint;
    /// SHA-256 of the manifest of latest_checkpoint, from the journal. Not a key of Determined.
    std::optional<std::string> latest_checkpoint_sha256 = {};
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

/// The network of this node. All members are empty if there are no other nodes. A member that could not be
/// determined is empty.
struct NodeNetwork {
    std::string chief_address;  // address of the first node (IPv4 or IPv6), as seen from this node
    std::string address;        // address of this node
    std::string interface;      // "eth0", or a configured list: "hsn0,hsn1"
    friend bool operator==(NodeNetwork const&, NodeNetwork const&) = default;
};

/// info/rendezvous.json: the nodes of the run in rank order, compressed. The file also has Determined's
/// container_addrs (host names) and container_slot_counts as full lists.
struct RendezvousInfo {
    std::string hosts;        // "n[0-3]"
    std::string slot_counts;  // "4(x2),3"
    int container_rank = 0;   // index of this node
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

/// The global rank of a local rank. Adds up the slots of all nodes before this one, because nodes may have
/// different numbers of slots. codes::damaged if the node has no such local rank.
Result<Rank> global_rank(RendezvousInfo const& info, int local_rank);

namespace info_files {
inline constexpr char directory[] = "info";
inline constexpr char cluster[] = "cluster.json";
inline constexpr char trial[] = "trial.json";
inline constexpr char rendezvous[] = "rendezvous.json";
inline constexpr char resources[] = "resources.json";
inline constexpr char spec[] =
    "spec.json";  // a copy of the experiment's, so that ranks need not read the shared file system
}  // namespace info_files

}  // namespace det
