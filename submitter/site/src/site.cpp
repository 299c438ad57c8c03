#include <det/foundation/text.hpp>
#include <det/site/site.hpp>
#include <det/slurm/cluster_config.hpp>
#include <det/slurm/job.hpp>
#include <det/slurm/node.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <set>

namespace det::site {
namespace {

using slurm::Partition;

/// The type becomes a part of a batch script, so it must be a plain word.
bool is_type_name(std::string_view name) {
    constexpr std::string_view known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !name.empty() && name.find_first_not_of(known) == std::string_view::npos;
}

/// True for "a100,ib" and "a100&ib". A constraint with other operators is not evaluated: all nodes count.
bool satisfies(std::string_view features, std::string_view constraint) {
    if (constraint.find_first_of("|[]*()") != std::string_view::npos) return true;
    auto const has = split(features, ',');
    auto const wanted = split(constraint, '&');
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](auto word) { return std::find(has.begin(), has.end(), word) != has.end(); });
}

/// \return The groups of GPU type `type`; without a type, all.
std::vector<GpuGroup> choose_gpus(std::vector<GpuGroup> groups, std::optional<std::string> const& type) {
    // Slurm may report the GPUs without their type.
    bool const is_untyped = groups.size() == 1 && groups[0].type.empty();
    if (type && !is_untyped) std::erase_if(groups, [&](auto const& group) { return group.type != *type; });
    return groups;
}

/// \return The kinds of the group's nodes: one for each type of their GPUs; none if the nodes do not belong
/// to the pool.
std::vector<NodeKind> kinds_of(slurm::NodeGroup const& group, config::PoolEntry const* entry, SlotType type,
                               bool has_gpus) {
    NodeKind kind;
    kind.cpus = group.cpus;
    kind.memory_mib = group.memory_mib;
    // (A temporary instead causes a false warning of gcc 12.)
    decltype(config::PoolEntry::slots_per_node) const nothing_said;
    auto const& wanted = entry != nullptr ? entry->slots_per_node : nothing_said;
    if (type == SlotType::cpu) {
        kind.slots_per_node = static_cast<int>(wanted.value_or(std::max(1, group.cpus)));
        return {kind};
    }
    if (!has_gpus) {  // Slurm reports no GPUs: only the site file names them
        kind.slots_per_node = static_cast<int>(wanted.value_or(1));
        if (entry != nullptr) kind.gpu_type = entry->gpu_type.value_or("");
        return {kind};
    }
    auto const all = parse_gpu_groups(group.gres);
    std::vector<NodeKind> kinds;
    for (auto const& gpus : choose_gpus(all, entry != nullptr ? entry->gpu_type : std::nullopt)) {
        kind.gpu_type = gpus.type;
        kind.slots_per_node = wanted ? std::min(static_cast<int>(*wanted), gpus.count) : gpus.count;
        kind.has_other_types = all.size() > 1;
        kinds.push_back(kind);
    }
    return kinds;
}

bool is_out(slurm::NodeGroup const& group) {
    slurm::Node node;
    node.state = group.state;
    return node.is_unavailable();
}

void add_nodes(NodeKind& kind, slurm::NodeGroup const& group) {
    kind.count += group.count;
    kind.cpus = std::min(kind.cpus, group.cpus);
    kind.memory_mib = std::min(kind.memory_mib, group.memory_mib);
    if (is_out(group)) kind.out_count += group.count;
    if (!group.names.empty()) kind.names.push_back(group.names);
}

bool is_alike(NodeKind const& a, NodeKind const& b, SlotType type) {
    bool const has_same_cpus = type != SlotType::cpu || a.cpus == b.cpus;
    return a.slots_per_node == b.slots_per_node && a.gpu_type == b.gpu_type &&
           a.has_other_types == b.has_other_types && has_same_cpus;
}

bool has_gpus(slurm::Partition const& partition) {
    return std::any_of(partition.nodes.begin(), partition.nodes.end(),
                       [](auto const& group) { return slurm::parse_gpu_count(group.gres) > 0; });
}

/// The vendor of a type of GPUs, as sites name them in gres: "mi250x", "gfx90a" (AMD), "pvc",
/// "intel_data_center_gpu_max_1550" (Intel). Other names, and none, are NVIDIA's.
SlotType slot_type_of_gpus(std::string_view type) {
    auto const name = to_lower(type);
    auto const is_one_of = [&](std::initializer_list<std::string_view> prefixes) {
        return std::ranges::any_of(prefixes, [&](auto const prefix) { return name.starts_with(prefix); });
    };
    auto const has_number_after = [&](std::string_view prefix) {
        return name.starts_with(prefix) && name.size() > prefix.size() && name[prefix.size()] >= '0' &&
               name[prefix.size()] <= '9';
    };
    if (has_number_after("mi") || is_one_of({"amd", "instinct", "radeon", "gfx"})) return SlotType::rocm;
    if (has_number_after("max") || is_one_of({"intel", "pvc", "ponte_vecchio", "data_center_gpu_"}))
        return SlotType::xpu;
    return SlotType::cuda;
}

/// The slot type of all GPUs of the pool; cuda if they have several.
SlotType slot_type_of_all_gpus(slurm::Partition const& partition, config::PoolEntry const* entry) {
    if (entry != nullptr && entry->gpu_type) return slot_type_of_gpus(*entry->gpu_type);
    std::set<SlotType> types;
    for (auto const& group : partition.nodes) {
        for (auto const& gpus : parse_gpu_groups(group.gres)) types.insert(slot_type_of_gpus(gpus.type));
    }
    return types.size() == 1 ? *types.begin() : SlotType::cuda;
}

/// \return The slot type of the site file; if it sets none, that of the GPUs of the nodes, else cpu. The
/// nodes of a run correct the vendor if the type does not tell it.
SlotType slot_type_of(slurm::Partition const& partition, config::PoolEntry const* entry) {
    if (entry != nullptr && entry->slot_type) return *entry->slot_type;
    if (!has_gpus(partition)) return SlotType::cpu;
    return slot_type_of_all_gpus(partition, entry);
}

/// \return The nodes of a partition that belong to a pool, grouped by kind, the largest first. `entry` may be
/// null. Pure.
std::vector<NodeKind> find_kinds(slurm::Partition const& partition, config::PoolEntry const* entry,
                                 SlotType type) {
    std::vector<NodeKind> kinds;
    bool const knows_gpus = has_gpus(partition);
    for (auto const& group : partition.nodes) {
        bool const is_constrained = entry != nullptr && entry->constraint && partition.has_node_facts;
        if (is_constrained && !satisfies(group.features, *entry->constraint)) continue;
        for (auto const& kind : kinds_of(group, entry, type, knows_gpus)) {
            auto same = std::find_if(kinds.begin(), kinds.end(),
                                     [&](auto const& other) { return is_alike(other, kind, type); });
            if (same == kinds.end()) same = kinds.insert(kinds.end(), kind);
            add_nodes(*same, group);
        }
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](auto const& a, auto const& b) { return a.slots_per_node > b.slots_per_node; });
    return kinds;
}

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
    pool.has_only_whole_nodes = partition.oversubscribe == "EXCLUSIVE";
    pool.memory_max = partition.memory_max;
    pool.partition_time_max = partition.time_max;
    pool.partition_qos = partition.qos;
    // If slurmctld hides its nodes, assumes that jobs can request the GPUs that the site file names.
    pool.has_gres = !partition.has_node_facts ||
                    std::any_of(partition.nodes.begin(), partition.nodes.end(),
                                [](auto const& group) { return slurm::parse_gpu_count(group.gres) > 0; });
}

void set_template(Pool& pool, config::ContainerTemplateEntry const& entry) {
    pool.container_runtime = ContainerRuntime::custom;
    pool.container_template = entry;
}

void set_containers(Pool& pool, config::SiteFile const& file) {
    pool.container_runtime = file.container_runtime;
    if (file.container_template) set_template(pool, *file.container_template);
}

void set_from_entry(Pool& pool, config::PoolEntry const& entry, config::SiteFile const& file) {
    pool.description = entry.description;
    pool.qos = entry.qos;
    pool.account = entry.account;
    pool.reservation = entry.reservation;
    pool.constraint = entry.constraint;
    pool.gpu_type = entry.gpu_type;
    pool.has_whole_memory = entry.has_whole_memory;
    pool.is_exclusive = entry.is_exclusive;
    pool.may_mix_nodes = entry.may_mix_nodes;
    pool.limits = entry.limits;
    pool.scheduler = entry.scheduler.value_or(file.scheduler);
    set_containers(pool, file);
    if (entry.container_runtime) {
        pool.container_runtime = *entry.container_runtime;
        pool.container_template.reset();
    }
    if (entry.container_template) set_template(pool, *entry.container_template);
    pool.passes_partition = entry.passes_partition;
    pool.is_in_site_file = true;
    pool.user_options.insert(pool.user_options.end(), entry.user_options.begin(), entry.user_options.end());
}

Pool pool_of_partition(Partition const& partition, config::SiteFile const& file) {
    Pool pool;
    pool.name = partition.name;
    pool.scheduler = file.scheduler;
    set_containers(pool, file);
    pool.user_options = file.user_options;
    set_from_partition(pool, partition, nullptr);
    return pool;
}

/// Makes the pool of an entry of the site file. Of several partitions the first one says which nodes and
/// limits the pool has. If it does not exist, the pool has no nodes.
Pool pool_of_entry(config::PoolEntry const& entry, config::SiteFile const& file,
                   std::vector<Partition> const& partitions) {
    Pool pool;
    pool.name = entry.name;
    pool.partition = entry.partition.substr(0, entry.partition.find(','));
    if (pool.partition != entry.partition) pool.partitions = entry.partition;
    pool.is_up = false;
    pool.user_options = file.user_options;
    set_from_entry(pool, entry, file);
    if (auto const* partition = find_partition(partitions, pool.partition))
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

slurm::MemoryLimit cluster_memory_limit(slurm::ClusterConfig const& config) {
    auto const limit = [&](std::string_view name) {
        auto const number = config.find_number(name);
        return number && *number > 0 ? number : std::nullopt;
    };
    return {limit("MaxMemPerNode"), limit("MaxMemPerCPU")};
}

/// Whether the pool may have GPUs of which neither Slurm nor the site file tells: PrivateData=nodes hides the
/// nodes, the cluster has GPUs, and partitions do not count them.
bool may_have_hidden_gpus(Pool const& pool, Site const& site, slurm::ClusterConfig const& config) {
    auto const* partition = find_partition(site.partitions, pool.partition);
    if (partition == nullptr || partition->has_node_facts || pool.slot_type != SlotType::cpu) return false;
    auto const entry = std::ranges::find(site.entries, pool.name, &config::PoolEntry::name);
    bool const is_stated = entry != site.entries.end() && entry->slot_type.has_value();
    bool const counts_gpus =
        config.find("AccountingStorageTRES").value_or("").find("gres/gpu") != std::string::npos;
    return !is_stated && !counts_gpus && config.has_option("GresTypes", "gpu");
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

std::vector<GpuGroup> parse_gpu_groups(std::string_view gres) {
    std::vector<GpuGroup> groups;
    for (auto piece : split(gres, ',')) {
        auto const count = slurm::parse_gpu_count(piece);
        if (count <= 0) continue;
        if (piece.starts_with("gres:") || piece.starts_with("gres/")) piece.remove_prefix(5);
        auto const parts = split(piece.substr(0, piece.find('(')), ':');
        bool const has_type = parts.size() == 3 || (parts.size() == 2 && !parse_integer<int>(parts[1]));
        std::string type(has_type && is_type_name(parts[1]) ? parts[1] : "");
        auto const same =
            std::find_if(groups.begin(), groups.end(), [&](auto const& group) { return group.type == type; });
        if (same != groups.end()) {
            same->count += count;
        } else {
            groups.push_back({std::move(type), count});
        }
    }
    return groups;
}

std::string Pool::container_name() const {
    return container_template ? container_template->name : std::string(config::to_string(container_runtime));
}

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
    site.job_name = file.job_name;
    site.image_directory = file.image_directory;
    site.job_project_source = file.job_project_source;
    site.partitions = partitions;
    site.entries = file.pools;
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

void apply_cluster_settings(Site& site, slurm::ClusterConfig const& config,
                            std::optional<JobAccounting> accounting) {
    site.memory_max = cluster_memory_limit(config);
    // Before 25.11 sbatch does not know --requeue=expedite, and slurmctld ignores the parameter.
    site.expedites_requeue = config.find("SLURM_VERSION").value_or("") >= "25.11" &&
                             config.has_option("SlurmctldParameters", "enable_expedited_requeue");
    site.accounting = std::move(accounting);
    for (auto& pool : site.pools) {
        apply_cluster_memory_limit(pool, config);
        pool.may_have_hidden_gpus = may_have_hidden_gpus(pool, site, config);
        if (site.accounting) pool.rules = find_job_rules(*site.accounting, pool);
    }
}

Result<Pool> renew_pool(Site const& site, Pool pool) {
    auto const* partition = find_partition(site.partitions, pool.partition);
    if (partition == nullptr) {
        std::vector<std::string_view> names;
        for (auto const& each : site.partitions) names.push_back(each.name);
        auto const near = nearest_word(pool.partition, names);
        return Error{codes::no_such_pool, fmt::format("there is no partition '{}'", pool.partition),
                     near ? fmt::format("use '{}'", *near) : "see 'sinfo --summarize'"};
    }
    auto const found = std::ranges::find(site.entries, pool.name, &config::PoolEntry::name);
    auto entry = found != site.entries.end() ? *found : config::PoolEntry{};
    entry.constraint = pool.constraint;
    set_from_partition(pool, *partition, &entry);
    if (!pool.memory_max.exists()) pool.memory_max = site.memory_max;
    return pool;
}

void apply_cluster_memory_limit(Pool& pool, slurm::ClusterConfig const& config) {
    if (!pool.memory_max.exists()) pool.memory_max = cluster_memory_limit(config);
}

std::optional<std::int64_t> memory_limit_mib(Pool const& pool, NodeKind const& kind) {
    auto limit = pool.memory_max.per_node_mib;
    if (!limit && pool.memory_max.per_cpu_mib) limit = *pool.memory_max.per_cpu_mib * std::max(1, kind.cpus);
    if (!limit || kind.memory_mib == 0 || *limit >= kind.memory_mib) return std::nullopt;
    return limit;
}

std::optional<std::int64_t> time_max_s(Pool const& pool) {
    auto const of_qos = config::parse_time_limit_s(pool.rules.time_max);
    auto const of_partition = config::parse_time_limit_s(pool.partition_time_max);
    if (!of_partition || (of_qos && pool.rules.replaces_partition_time)) return of_qos;
    return of_qos ? std::min(*of_qos, *of_partition) : of_partition;
}

std::optional<std::uint32_t> partition_grace_time_s(Pool const& pool) {
    if (pool.grace_time.count() <= 0) return std::nullopt;
    return static_cast<std::uint32_t>(pool.grace_time.count());
}

std::optional<std::uint32_t> preemption_notice_s(Pool const& pool, slurm::ClusterConfig const& config) {
    if (pool.rules.notice_s) return pool.rules.notice_s;
    bool const by_partition =
        config.find("PreemptType").value_or("").ends_with("partition_prio") && pool.preempt_mode != "OFF";
    if (!by_partition) return std::nullopt;
    if (auto const grace = partition_grace_time_s(pool)) return grace;
    auto const kill_wait = config.find_number("KillWait");
    return kill_wait ? std::optional(static_cast<std::uint32_t>(*kill_wait)) : std::nullopt;
}

}  // namespace det::site
