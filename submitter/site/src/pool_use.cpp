#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/site/pool_use.hpp>

#include <algorithm>
#include <map>

namespace det::site {
namespace {

/// \return The slots of each node by its name. Skips an invalid host list.
std::map<std::string, int> slots_by_name(Pool const& pool) {
    std::map<std::string, int> slots;
    for (auto const& kind : pool.kinds) {
        for (auto const& list : kind.names) {
            auto const names = expand_host_list(list);
            if (!names) continue;
            for (auto const& name : *names) slots[name] += kind.slots_per_node;
        }
    }
    return slots;
}

int used_gpus(Pool const& pool, slurm::Node const& node) {
    int used = 0;
    for (auto const& group : parse_gpu_groups(node.gres_used)) {
        if (!pool.gpu_type || group.type.empty() || group.type == *pool.gpu_type) used += group.count;
    }
    return used;
}

int used_slots(Pool const& pool, slurm::Node const& node, int slots) {
    // No job fits on a node without free CPUs.
    if (node.cpus > 0 && node.cpus_used >= node.cpus) return slots;
    if (pool.slot_type != SlotType::cpu) return std::min(slots, used_gpus(pool, node));
    if (node.cpus == 0) return 0;
    return std::min(slots, (node.cpus_used * slots + node.cpus - 1) / node.cpus);
}

bool is_in(Pool const& pool, slurm::JobStatus const& job) {
    auto const partitions = split(job.partition, ',');
    bool const is_there = std::find(partitions.begin(), partitions.end(), pool.partition) != partitions.end();
    return is_there && (!pool.qos || job.qos == *pool.qos);
}

}  // namespace

PoolUse count_use(Pool const& pool, std::vector<slurm::Node> const& nodes,
                  std::vector<slurm::JobStatus> const& jobs) {
    PoolUse use;
    auto const slots = slots_by_name(pool);
    for (auto const& node : nodes) {
        auto const found = node.partition == pool.partition ? slots.find(node.name) : slots.end();
        if (found == slots.end()) continue;
        ++use.nodes;
        use.slots += found->second;
        if (node.is_unavailable()) {
            ++use.nodes_out;
            use.slots_out += found->second;
        } else {
            use.nodes_free += node.is_free() ? 1 : 0;
            use.slots_used += used_slots(pool, node, found->second);
        }
    }
    for (auto const& job : jobs) {
        if (!is_in(pool, job) || slurm::is_over(job.state)) continue;
        (job.state == slurm::JobState::pending ? use.jobs_waiting : use.jobs_running) += 1;
    }
    return use;
}

}  // namespace det::site
