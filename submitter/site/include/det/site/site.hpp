#pragma once
#include <det/config/site_file.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/site/job_rules.hpp>
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

/// Nodes of a pool with the same slots. Nodes with GPUs of several types are of several kinds. In a pool of
/// CPU slots, nodes of a kind also have the same number of CPUs.
struct NodeKind {
    int slots_per_node = 1;
    std::string gpu_type;          // empty: unknown to Slurm
    bool has_other_types = false;  // the nodes have GPUs of other types too
    int cpus = 0;                  // of the node with the fewest
    std::int64_t memory_mib = 0;   // of the node with the least; 0: unknown
    int count = 0;
    int out_count = 0;               // drained, down or in maintenance
    std::vector<std::string> names;  // host lists: "n[0-3]"

    int up_count() const { return count - out_count; }
};

/// Nodes of one partition on which trials can run, and the options that request them.
struct Pool {
    std::string name;
    std::string description;
    std::string partition;
    bool is_default = false;      // for trials that name no pool
    bool is_default_aux = false;  // for trials of 0 slots that name no pool
    bool is_up = true;
    SlotType slot_type = SlotType::cpu;
    // Both of the most frequent kind of node.
    int slots_per_node = 1;
    int node_count = 0;
    std::vector<NodeKind> kinds;   // the largest slots_per_node first
    std::optional<int> nodes_max;  // of one job, the partition's MaxNodes
    std::string preempt_mode;      // OFF, REQUEUE ...
    std::chrono::seconds grace_time{0};
    bool has_gres = true;               // false: Slurm does not know its GPUs, so jobs cannot request them
    bool may_have_hidden_gpus = false;  // Slurm hides the nodes' GPUs, and the site file does not name them
    bool has_only_whole_nodes = false;  // the partition's OverSubscribe is EXCLUSIVE
    slurm::MemoryLimit memory_max;      // of a job on a node
    std::string partition_time_max;
    std::string partition_qos;  // whose limits the partition has; empty: none
    JobRules rules;             // of jobs that ask for nothing else

    // From the site file.
    bool is_in_site_file = false;
    std::optional<std::string> qos, account, reservation, constraint, gpu_type;
    bool passes_partition = true;                // false: jobs do not ask for the partition
    std::string partitions = {};                 // that jobs ask for: "gpu,spare"; empty: the one above
    std::vector<std::string> user_options = {};  // names of sbatch's options that may replace the pool's
    bool has_whole_memory = true;
    bool is_exclusive = true;  // trials get whole nodes unless their configuration says otherwise
    bool may_mix_nodes = false;
    config::PoolLimits limits;
    config::Scheduler scheduler = config::Scheduler::priority;
    config::ContainerRuntime container_runtime = config::ContainerRuntime::none;
    std::optional<config::ContainerTemplateEntry> container_template = {};
    std::string container_name() const;  // of the runtime; "none"
};

/// The pools of trials that name none. Empty: there is none.
struct DefaultPools {
    std::string compute;
    std::string aux;  // for trials of 0 slots
};

/// What a configuration says about its pool.
struct PoolRequest {
    std::string name = {};  // empty: none
    std::int64_t slots_per_trial = 1;
};

/// Chooses the pool of an experiment.
/// \return Its name; empty if the request names no pool and there is no default one. Pure.
std::string choose_pool(PoolRequest const& request, DefaultPools const& defaults);

struct Site {
    std::string name;
    std::string file;                                 // empty: no site file
    std::optional<std::string> image_directory = {};  // as in the site file
    std::string job_name = "exp-%i";                  // pattern of the names of jobs
    std::optional<std::string> job_project_source;
    std::vector<Pool> pools;
    DefaultPools default_pools;  // only names of `pools`
    std::vector<slurm::Partition> partitions = {};
    std::vector<config::PoolEntry> entries = {};  // of the site file
    std::optional<JobAccounting> accounting = {};
    slurm::MemoryLimit memory_max = {};  // of a job on a node, where the partition sets none
    bool expedites_requeue = false;      // slurmctld accepts --requeue=expedite

    Pool const* find_pool(std::string_view name) const;
};

/// Makes the pools of the site file and, unless the file sets pool_per_partition to false, a pool for every
/// partition that has nodes and whose name is not that of a pool. Such a pool has one slot per GPU that Slurm
/// reports, or one per CPU if there are no GPUs. Pure.
Site make_site(std::vector<slurm::Partition> const& partitions, config::SiteFile const& file = {});

/// \return The pool that choose_pool() chooses; the Error lists all pools.
Result<Pool> require_pool(Site const& site, PoolRequest const& request);

/// Sets what the cluster's configuration and the accounting database decide about the jobs of all pools:
/// MaxMemPerNode or MaxMemPerCPU where the partition has none, the rules of the QOSs, expedited requeues.
/// Pure.
void apply_cluster_settings(Site& site, slurm::ClusterConfig const& config,
                            std::optional<JobAccounting> accounting);

/// \return The pool with the nodes and limits that its partition and its constraint leave, after one of them
/// has been replaced; no_such_pool if there is no such partition. Pure.
Result<Pool> renew_pool(Site const& site, Pool pool);

/// Sets the cluster's MaxMemPerNode or MaxMemPerCPU for a pool whose partition has none. Pure.
void apply_cluster_memory_limit(Pool& pool, slurm::ClusterConfig const& config);

/// \return The maximum memory of a job on a node of this kind, in MiB; nothing if there is no limit, or if
/// the node's memory is unknown or not above the limit. Pure.
std::optional<std::int64_t> memory_limit_mib(Pool const& pool, NodeKind const& kind);

/// \return The longest time of a job of the pool that its partition and its QOS allow, in seconds; nothing if
/// there is no limit. Pure.
std::optional<std::int64_t> time_max_s(Pool const& pool);

/// \return The partition's GraceTime in seconds, also if preemption is off or by QOS; nothing if it has none.
/// Pure.
std::optional<std::uint32_t> partition_grace_time_s(Pool const& pool);

/// \return The seconds between the preemption signal and the loss of the nodes: the GraceTime of what is
/// preempted, the partition or the QOS of the pool's rules, or KillWait if it has none. Nothing if the jobs
/// of the pool are not preempted. Pure.
std::optional<std::uint32_t> preemption_notice_s(Pool const& pool, slurm::ClusterConfig const& config);

/// GPUs of one type, as in "gpu:a100:4(S:0-1),gpu:v100:2". The type is "" if Slurm names none.
struct GpuGroup {
    std::string type;
    int count = 0;
};
std::vector<GpuGroup> parse_gpu_groups(std::string_view gres);

}  // namespace det::site
