#pragma once
#include <det/config/site_file.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/slurm/partition.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::slurm {
class ClusterConfig;
}

namespace det::site {

/// Nodes of a pool that are alike.
struct NodeKind {
    int slots_per_node = 1;
    std::string gpu_type;  // empty: Slurm names none
    int cpus = 0;
    int count = 0;
    int out_count = 0;               // of them drained, down, in maintenance
    std::vector<std::string> names;  // host lists: "n[0-3]"

    int up_count() const { return count - out_count; }
};

/// Where trials can run: nodes of one partition, and how they are asked for.
struct Pool {
    std::string name;
    std::string description;
    std::string partition;
    bool is_default = false;      // for trials that name none
    bool is_default_aux = false;  // the same for trials of 0 slots
    bool is_up = true;
    SlotType slot_type = SlotType::cpu;
    // Of the kind that most nodes are of.
    int slots_per_node = 1;
    int node_count = 0;
    std::vector<NodeKind> kinds;   // the largest slots_per_node first
    std::optional<int> nodes_max;  // of one job, as the partition says
    std::string preempt_mode;      // OFF, REQUEUE ...
    std::chrono::seconds grace_time{0};
    bool has_gres = true;  // false: Slurm does not know of its GPUs, and they can't be asked for
    std::string partition_time_max;

    // As the site file says.
    std::optional<std::string> qos, account, reservation, constraint, gpu_type;
    bool has_whole_memory = true;
    bool may_mix_nodes = false;
    config::PoolLimits limits;
    config::Scheduler scheduler = config::Scheduler::priority;
    config::ContainerRuntime container_runtime = config::ContainerRuntime::none;

    int nodes_of_all_kinds() const;
    int slots_of_all_kinds() const;
};

struct Site {
    std::string name;
    std::string file;  // empty: from the live cluster alone
    std::optional<std::string> job_project_source;
    std::vector<Pool> pools;

    Pool const* find_pool(std::string_view name) const;
    Pool const* default_pool() const;
    /// For trials of 0 slots.
    Pool const* default_aux_pool() const;
};

/// A pool per partition, with its slots from the GPUs that Slurm knows of, or, where there are none, one per
/// CPU; and the pools of the site file. Partitions without nodes make no pool. Pure.
Site make_site(std::vector<slurm::Partition> const& partitions, config::SiteFile const& file = {});

/// The pool of that name, or the default one where the name is empty; the Error lists what there is.
Result<Pool> require_pool(Site const& site, std::string_view name);

/// Seconds between the preemption signal and the loss of the nodes: the partition's GraceTime; nothing if it
/// has none. Pure.
std::optional<std::uint32_t> preemption_notice_s(Pool const& pool);

/// As above; KillWait if the partition has no GraceTime. Nothing if jobs of the partition are not preempted,
/// or are preempted by QOS: squeue and scontrol do not show a QOS's GraceTime. Pure.
std::optional<std::uint32_t> preemption_notice_s(Pool const& pool, slurm::ClusterConfig const& config);

/// The GPUs in "gpu:a100:4(S:0-1),gpu:v100:2", by type; "" for those without one.
struct GpuGroup {
    std::string type;
    int count = 0;
};
std::vector<GpuGroup> parse_gpu_groups(std::string_view gres);

}  // namespace det::site
