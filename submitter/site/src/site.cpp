#include <det/foundation/text.hpp>
#include <det/site/site.hpp>
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/job.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "pool_nodes.hpp"

namespace det::site {
namespace {

using slurm::Partition;

Partition const* find_partition(std::vector<Partition> const& partitions, std::string_view name) {
    auto const found = std::find_if(partitions.begin(), partitions.end(),
                                    [&](auto const& partition) { return partition.name == name; });
    return found == partitions.end() ? nullptr : &*found;
}

/// \return The most frequent kind. If two are equally frequent, the one with more slots.
NodeKind most_common_kind(std::vector<NodeKind> const& kinds) {
    auto const most = std::max_element(kinds.begin(), kinds.end(),
                                       [](auto const& a, auto const& b) { return a.count < b.count; });
    return most == kinds.end() ? NodeKind{} : *most;
}

void set_from_partition(Pool& pool, Partition const& partition, config::PoolEntry const* entry) {
    pool.partition = partition.name;
    pool.is_up = partition.is_up;
    pool.slot_type = slot_type_of(partition, entry);
    pool.kinds = find_kinds(partition, entry, pool.slot_type);
    auto const common = most_common_kind(pool.kinds);
    pool.slots_per_node = common.slots_per_node;
    pool.node_count = common.count;
    pool.nodes_max = partition.nodes_max;
    pool.preempt_mode = partition.preempt_mode;
    pool.grace_time = partition.grace_time;
    pool.partition_time_max = partition.time_max;
    pool.has_gres = std::any_of(partition.nodes.begin(), partition.nodes.end(),
                                [](auto const& group) { return slurm::parse_gpu_count(group.gres) > 0; });
}

void set_from_entry(Pool& pool, config::PoolEntry const& entry, config::SiteFile const& file) {
    pool.description = entry.description;
    pool.qos = entry.qos;
    pool.account = entry.account;
    pool.reservation = entry.reservation;
    pool.constraint = entry.constraint;
    pool.gpu_type = entry.gpu_type;
    pool.has_whole_memory = entry.has_whole_memory;
    pool.may_mix_nodes = entry.may_mix_nodes;
    pool.limits = entry.limits;
    pool.scheduler = entry.scheduler.value_or(file.scheduler);
    pool.container_runtime = entry.container_runtime.value_or(file.container_runtime);
}

Pool pool_of_partition(Partition const& partition, config::SiteFile const& file) {
    Pool pool;
    pool.name = partition.name;
    pool.scheduler = file.scheduler;
    pool.container_runtime = file.container_runtime;
    set_from_partition(pool, partition, nullptr);
    return pool;
}

/// Makes the pool of an entry of the site file. If its partition does not exist, the pool has no nodes.
Pool pool_of_entry(config::PoolEntry const& entry, config::SiteFile const& file,
                   std::vector<Partition> const& partitions) {
    Pool pool;
    pool.name = entry.name;
    pool.partition = entry.partition;
    pool.is_up = false;
    set_from_entry(pool, entry, file);
    if (auto const* partition = find_partition(partitions, entry.partition))
        set_from_partition(pool, *partition, &entry);
    return pool;
}

/// \return The default pool: the pool that the site file names; else the pool named like Slurm's default
/// partition; else the first pool on that partition.
std::string default_name(Site const& site, config::SiteFile const& file,
                         std::vector<Partition> const& partitions) {
    if (file.default_compute_pool) return *file.default_compute_pool;
    auto const partition =
        std::find_if(partitions.begin(), partitions.end(), [](auto const& each) { return each.is_default; });
    if (partition == partitions.end()) return "";
    if (site.find_pool(partition->name) != nullptr) return partition->name;
    auto const pool = std::find_if(site.pools.begin(), site.pools.end(),
                                   [&](auto const& each) { return each.partition == partition->name; });
    return pool != site.pools.end() ? pool->name : "";
}

void set_defaults(Site& site, std::string const& compute, std::string const& aux) {
    for (auto& pool : site.pools) {
        pool.is_default = pool.name == compute;
        pool.is_default_aux = pool.name == aux;
        if (pool.is_default) site.default_pools.compute = compute;
        if (pool.is_default_aux) site.default_pools.aux = aux;
    }
}

}  // namespace

Pool const* Site::find_pool(std::string_view wanted) const {
    auto const found =
        std::find_if(pools.begin(), pools.end(), [&](auto const& pool) { return pool.name == wanted; });
    return found == pools.end() ? nullptr : &*found;
}

std::string choose_pool(PoolRequest const& request, DefaultPools const& defaults) {
    if (!request.name.empty()) return request.name;
    return request.slots_per_trial == 0 && !defaults.aux.empty() ? defaults.aux : defaults.compute;
}

Site make_site(std::vector<Partition> const& partitions, config::SiteFile const& file) {
    Site site;
    site.name = file.name;
    site.file = file.path;
    site.job_project_source = file.job_project_source;
    for (auto const& entry : file.pools) site.pools.push_back(pool_of_entry(entry, file, partitions));
    for (auto const& partition : partitions) {
        bool const is_wanted = file.has_pool_per_partition && partition.node_count() > 0 &&
                               site.find_pool(partition.name) == nullptr;
        if (is_wanted) site.pools.push_back(pool_of_partition(partition, file));
    }
    auto const compute = default_name(site, file, partitions);
    set_defaults(site, compute, file.default_aux_pool.value_or(compute));
    return site;
}

Result<Pool> require_pool(Site const& site, PoolRequest const& request) {
    auto const name = choose_pool(request, site.default_pools);
    if (auto const* pool = site.find_pool(name)) return *pool;
    std::vector<std::string> names;
    std::vector<std::string_view> candidates;
    for (auto const& each : site.pools) {
        names.push_back(each.name);
        candidates.push_back(each.name);
    }
    auto const known = fmt::format("resource pools here: {}", names.empty() ? "none" : join(names, ", "));
    if (name.empty()) {
        return Error{codes::no_such_pool, "no resource pool is named, and there is no default one",
                     "set resources.resource_pool; " + known};
    }
    auto const near = nearest_word(name, candidates);
    return Error{codes::no_such_pool, fmt::format("there is no resource pool '{}'", name),
                 near ? fmt::format("use '{}'; {}", *near, known) : known};
}

std::optional<std::uint32_t> preemption_notice_s(Pool const& pool) {
    if (pool.grace_time.count() <= 0) return std::nullopt;
    return static_cast<std::uint32_t>(pool.grace_time.count());
}

std::optional<std::uint32_t> preemption_notice_s(Pool const& pool, slurm::ClusterConfig const& config) {
    bool const by_partition =
        config.find("PreemptType").value_or("").ends_with("partition_prio") && pool.preempt_mode != "OFF";
    if (!by_partition) return std::nullopt;
    if (auto const grace = preemption_notice_s(pool)) return grace;
    auto const kill_wait = config.find_number("KillWait");
    return kill_wait ? std::optional(static_cast<std::uint32_t>(*kill_wait)) : std::nullopt;
}

}  // namespace det::site
