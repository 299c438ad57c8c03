#include <det/foundation/text.hpp>
#include <det/site/site.hpp>
#include <det/slurm/job.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace det::site {
namespace {

/// What a node offers.
struct NodeKind {
    int gpus = 0;
    int cpus = 0;
    friend auto operator<=>(NodeKind const&, NodeKind const&) = default;
};

/// The kind that most nodes are of; of two that are as many, the larger.
std::pair<NodeKind, int> most_common_kind(slurm::Partition const& partition) {
    std::map<NodeKind, int> counts;
    for (auto const& group : partition.nodes)
        counts[{slurm::parse_gpu_count(group.gres), group.cpus}] += group.count;
    std::pair<NodeKind, int> best{{}, 0};
    for (auto const& [kind, count] : counts) {
        if (count >= best.second) best = {kind, count};
    }
    return best;
}

Pool make_pool(slurm::Partition const& partition) {
    auto const [kind, count] = most_common_kind(partition);
    Pool pool;
    pool.name = partition.name;
    pool.partition = partition.name;
    pool.is_default = partition.is_default;
    pool.slot_type = kind.gpus > 0 ? SlotType::cuda : SlotType::cpu;
    pool.slots_per_node = std::max(1, kind.gpus > 0 ? kind.gpus : kind.cpus);
    pool.node_count = count;
    pool.preempt_mode = partition.preempt_mode;
    pool.grace_time = partition.grace_time;
    return pool;
}

}  // namespace

Pool const* Site::find_pool(std::string_view name) const {
    auto const found =
        std::find_if(pools.begin(), pools.end(), [&](auto const& pool) { return pool.name == name; });
    return found == pools.end() ? nullptr : &*found;
}

Pool const* Site::default_pool() const {
    auto const found =
        std::find_if(pools.begin(), pools.end(), [](auto const& pool) { return pool.is_default; });
    return found == pools.end() ? nullptr : &*found;
}

Site make_site(std::vector<slurm::Partition> const& partitions) {
    Site site;
    for (auto const& partition : partitions) {
        if (partition.node_count() > 0) site.pools.push_back(make_pool(partition));
    }
    return site;
}

Result<Pool> require_pool(Site const& site, std::string_view name) {
    auto const* pool = name.empty() ? site.default_pool() : site.find_pool(name);
    if (pool != nullptr) return *pool;
    std::vector<std::string> names;
    std::vector<std::string_view> candidates;
    for (auto const& each : site.pools) {
        names.push_back(each.name);
        candidates.push_back(each.name);
    }
    auto const known = fmt::format("resource pools here: {}", names.empty() ? "none" : join(names, ", "));
    if (name.empty()) {
        return Error{codes::no_such_pool, "no resource pool is named, and Slurm has no default partition",
                     "set resources.resource_pool; " + known};
    }
    auto const near = nearest_word(name, candidates);
    return Error{codes::no_such_pool, fmt::format("there is no resource pool '{}'", name),
                 near ? fmt::format("use '{}'; {}", *near, known) : known};
}

}  // namespace det::site
