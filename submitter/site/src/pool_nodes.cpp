#include "pool_nodes.hpp"

#include <det/foundation/text.hpp>
#include <det/slurm/job.hpp>
#include <det/slurm/node.hpp>

#include <algorithm>
#include <numeric>

namespace det::site {
namespace {

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

/// \return The group of GPU type `type`. Without a type, the group with the most GPUs.
GpuGroup choose_gpus(std::vector<GpuGroup> const& groups, std::optional<std::string> const& type) {
    GpuGroup best;
    for (auto const& group : groups) {
        if (type ? group.type == *type : group.count > best.count) best = group;
    }
    // Slurm may know the GPUs but not their type.
    if (type && best.count == 0 && groups.size() == 1 && groups[0].type.empty()) return {"", groups[0].count};
    return best;
}

/// \return The kind of the group's nodes; nothing if they do not belong to the pool.
std::optional<NodeKind> kind_of(slurm::NodeGroup const& group, config::PoolEntry const* entry, SlotType type,
                                bool has_gpus) {
    NodeKind kind;
    kind.cpus = group.cpus;
    // (A temporary instead causes a false warning of gcc 12.)
    decltype(config::PoolEntry::slots_per_node) const nothing_said;
    auto const& wanted = entry != nullptr ? entry->slots_per_node : nothing_said;
    if (type == SlotType::cpu) {
        kind.slots_per_node = static_cast<int>(wanted.value_or(std::max(1, group.cpus)));
        return kind;
    }
    if (!has_gpus) {  // only the site file knows the GPUs
        kind.slots_per_node = static_cast<int>(wanted.value_or(1));
        return kind;
    }
    auto const gpus =
        choose_gpus(parse_gpu_groups(group.gres), entry != nullptr ? entry->gpu_type : std::nullopt);
    if (gpus.count == 0) return std::nullopt;
    kind.gpu_type = gpus.type;
    kind.slots_per_node = wanted ? std::min(static_cast<int>(*wanted), gpus.count) : gpus.count;
    return kind;
}

bool is_out(slurm::NodeGroup const& group) {
    slurm::Node node;
    node.state = group.state;
    return node.is_unavailable();
}

bool is_alike(NodeKind const& a, NodeKind const& b, SlotType type) {
    bool const has_same_cpus = type != SlotType::cpu || a.cpus == b.cpus;
    return a.slots_per_node == b.slots_per_node && a.gpu_type == b.gpu_type && has_same_cpus;
}

bool has_gpus(slurm::Partition const& partition) {
    return std::any_of(partition.nodes.begin(), partition.nodes.end(),
                       [](auto const& group) { return slurm::parse_gpu_count(group.gres) > 0; });
}

}  // namespace

std::vector<GpuGroup> parse_gpu_groups(std::string_view gres) {
    std::vector<GpuGroup> groups;
    for (auto piece : split(gres, ',')) {
        auto const count = slurm::parse_gpu_count(piece);
        if (count <= 0) continue;
        if (piece.starts_with("gres:")) piece.remove_prefix(5);
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

SlotType slot_type_of(slurm::Partition const& partition, config::PoolEntry const* entry) {
    if (entry != nullptr && entry->slot_type) return *entry->slot_type;
    return has_gpus(partition) ? SlotType::cuda : SlotType::cpu;
}

std::vector<NodeKind> find_kinds(slurm::Partition const& partition, config::PoolEntry const* entry,
                                 SlotType type) {
    std::vector<NodeKind> kinds;
    bool const knows_gpus = has_gpus(partition);
    for (auto const& group : partition.nodes) {
        if (entry != nullptr && entry->constraint && !satisfies(group.features, *entry->constraint)) continue;
        auto kind = kind_of(group, entry, type, knows_gpus);
        if (!kind) continue;
        auto same = std::find_if(kinds.begin(), kinds.end(),
                                 [&](auto const& other) { return is_alike(other, *kind, type); });
        if (same == kinds.end()) same = kinds.insert(kinds.end(), *std::move(kind));
        same->count += group.count;
        if (is_out(group)) same->out_count += group.count;
        if (!group.names.empty()) same->names.push_back(group.names);
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](auto const& a, auto const& b) { return a.slots_per_node > b.slots_per_node; });
    return kinds;
}

int Pool::nodes_of_all_kinds() const {
    return std::accumulate(kinds.begin(), kinds.end(), 0,
                           [](int sum, auto const& kind) { return sum + kind.count; });
}

int Pool::slots_of_all_kinds() const {
    return std::accumulate(kinds.begin(), kinds.end(), 0,
                           [](int sum, auto const& kind) { return sum + kind.count * kind.slots_per_node; });
}

}  // namespace det::site
