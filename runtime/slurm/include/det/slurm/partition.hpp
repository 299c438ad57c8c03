#pragma once
#include <det/foundation/result.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::slurm {

/// A group of identical nodes of a partition.
struct NodeGroup {
    int count = 0;
    int cpus = 0;
    std::string state;            // idle, allocated, drained ...
    std::string gres;             // "gpu:tesla:4(S:0-1)", "(null)"
    std::string features = {};    // "a100,ib", "(null)"
    std::string names = {};       // "n[0-3],m1"
    std::int64_t memory_mib = 0;  // of each node; 0: unknown

    friend bool operator==(NodeGroup const&, NodeGroup const&) = default;
};

/// The maximum memory of a job. At most one of the two is set.
struct MemoryLimit {
    std::optional<std::int64_t> per_node_mib = {};
    std::optional<std::int64_t> per_cpu_mib = {};

    bool exists() const { return per_node_mib || per_cpu_mib; }
    friend bool operator==(MemoryLimit const&, MemoryLimit const&) = default;
};

struct Partition {
    std::string name;
    bool is_default = false;
    bool is_up = true;
    std::string preempt_mode;  // OFF, REQUEUE, CANCEL, SUSPEND ...
    std::chrono::seconds grace_time{0};
    std::vector<NodeGroup> nodes;
    std::optional<int> nodes_max = {};  // of one job
    std::string time_max = {};          // of one job: "UNLIMITED", "2-00:00:00"
    std::string oversubscribe = {};     // NO, EXCLUSIVE, FORCE:4 ...
    bool has_default_memory = false;    // jobs that request no memory get a default
    // Jobs of a partition with a higher tier are scheduled first, whatever their priorities
    int priority_tier = 1;
    MemoryLimit memory_max = {};  // empty: that of the cluster
    bool has_node_facts = true;   // false: PrivateData=nodes hides the features and states of the nodes
    std::string qos = {};         // the QOS whose limits the partition has; empty: none

    int node_count() const;

    friend bool operator==(Partition const&, Partition const&) = default;
};

/// The argument of sinfo --format; the gres, which may contain any character, comes last.
std::string node_group_format();

/// Parses the output of `scontrol show partition --oneliner` and of sinfo with node_group_format().
Result<std::vector<Partition>> parse_partitions(std::string_view scontrol_output,
                                                std::string_view sinfo_output);

/// Parses the output of `scontrol show partition --oneliner` alone, for a user from whom slurmctld hides the
/// nodes (PrivateData=nodes). Each partition has one group of nodes, with their number, their names, the
/// average number of their CPUs and, if AccountingStorageTRES has gres/gpu, of their GPUs, and the assumed
/// state "idle". Pure.
Result<std::vector<Partition>> parse_partitions_without_nodes(std::string_view scontrol_output);

}  // namespace det::slurm
