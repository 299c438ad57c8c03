#include <det/foundation/text.hpp>
#include <det/slurm/partition.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace det::slurm {
namespace {

constexpr std::string_view sinfo_format = "%R|%D|%c|%m|%T|%f|%N|%G";
constexpr std::size_t sinfo_column_count = 8;

std::map<std::string_view, std::string_view> parse_pairs(std::string_view line) {
    std::map<std::string_view, std::string_view> pairs;
    for (auto const word : split(line, ' ')) {
        auto const equals = word.find('=');
        if (equals != std::string_view::npos) pairs.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
    return pairs;
}

std::string_view value_of(std::map<std::string_view, std::string_view> const& pairs, std::string_view key) {
    auto const found = pairs.find(key);
    return found == pairs.end() ? std::string_view{} : found->second;
}

/// The number in "4000"; nothing for "UNLIMITED" and 0, which is no limit either.
std::optional<std::int64_t> parse_limit(std::string_view text) {
    auto const number = parse_integer<std::int64_t>(text);
    return number && *number > 0 ? number : std::nullopt;
}

/// The 8 in "8+", which sinfo prints for a group of different nodes: each node has at least 8.
template <class T>
T parse_at_least(std::string_view text) {
    return parse_integer<T>(text.substr(0, text.find('+'))).value_or(T{});
}

Partition partition_from(std::map<std::string_view, std::string_view> const& pairs) {
    Partition partition;
    partition.name = value_of(pairs, "PartitionName");
    partition.is_default = value_of(pairs, "Default") == "YES";
    partition.is_up = value_of(pairs, "State") == "UP";
    partition.preempt_mode = value_of(pairs, "PreemptMode");
    partition.grace_time = std::chrono::seconds(parse_integer<int>(value_of(pairs, "GraceTime")).value_or(0));
    partition.nodes_max = parse_integer<int>(value_of(pairs, "MaxNodes"));  // empty for "UNLIMITED"
    partition.time_max = value_of(pairs, "MaxTime");
    // Slurm 26.05 writes "Exclusive=NODE OverSubscribe=NO" where earlier releases write
    // "OverSubscribe=EXCLUSIVE".
    bool const is_exclusive = value_of(pairs, "Exclusive") == "NODE";
    partition.oversubscribe = is_exclusive ? "EXCLUSIVE" : value_of(pairs, "OverSubscribe");
    for (auto const* key : {"DefMemPerNode", "DefMemPerCPU", "DefMemPerGPU"}) {
        auto const memory = value_of(pairs, key);
        if (!memory.empty() && memory != "UNLIMITED") partition.has_default_memory = true;
    }
    partition.memory_max = {parse_limit(value_of(pairs, "MaxMemPerNode")),
                            parse_limit(value_of(pairs, "MaxMemPerCPU"))};
    partition.priority_tier = parse_integer<int>(value_of(pairs, "PriorityTier")).value_or(1);
    if (auto const qos = value_of(pairs, "QoS"); qos != "N/A") partition.qos = qos;
    return partition;
}

/// The GPUs of a node, on average and at least one, from the partition's "cpu=16,gres/gpu=8,gres/gpu:a100=8":
/// "gpu:a100:4" for two nodes. The partition tells its GPUs if AccountingStorageTRES has gres/gpu. "(null)":
/// it tells none.
std::string average_gres(std::string_view tres, int nodes) {
    int total = 0;
    std::map<std::string_view, int> by_type;
    for (auto const item : split(tres, ',')) {
        auto const equals = item.find('=');
        auto const name = item.substr(0, equals);
        if (equals == std::string_view::npos || !name.starts_with("gres/gpu")) continue;
        auto const count = parse_integer<int>(item.substr(equals + 1)).value_or(0);
        constexpr std::string_view typed = "gres/gpu:";
        if (name == "gres/gpu") total = count;
        if (name.starts_with(typed) && count > 0) by_type[name.substr(typed.size())] = count;
    }
    auto const of_types = std::accumulate(by_type.begin(), by_type.end(), std::int64_t{0},
                                          [](auto sum, auto const& type) { return sum + type.second; });
    auto const all = std::max<std::int64_t>(total, of_types);
    if (all <= 0) return "(null)";
    auto const per_node = std::max<std::int64_t>(1, all / nodes);
    bool const has_one_type = by_type.size() == 1 && of_types == all;
    return has_one_type ? fmt::format("gpu:{}:{}", by_type.begin()->first, per_node)
                        : fmt::format("gpu:{}", per_node);
}

/// The nodes of a partition from "TotalCPUs=16 TotalNodes=2 Nodes=n[0-1] TRES=...", with average CPUs and
/// GPUs.
NodeGroup average_nodes(std::map<std::string_view, std::string_view> const& pairs) {
    NodeGroup group;
    group.count = parse_integer<int>(value_of(pairs, "TotalNodes")).value_or(0);
    if (group.count <= 0) return group;
    group.cpus = parse_integer<int>(value_of(pairs, "TotalCPUs")).value_or(0) / group.count;
    group.state = "idle";
    group.gres = average_gres(value_of(pairs, "TRES"), group.count);
    group.features = "(null)";
    group.names = value_of(pairs, "Nodes");
    return group;
}

}  // namespace

int Partition::node_count() const {
    return std::accumulate(nodes.begin(), nodes.end(), 0,
                           [](int sum, auto const& group) { return sum + group.count; });
}

std::string node_group_format() { return std::string(sinfo_format); }

Result<std::vector<Partition>> parse_partitions_without_nodes(std::string_view scontrol_output) {
    std::vector<Partition> partitions;
    for (auto const line : split_lines(scontrol_output)) {
        if (trim(line).empty()) continue;
        auto const pairs = parse_pairs(line);
        auto partition = partition_from(pairs);
        if (partition.name.empty())
            return Error{codes::slurm_output, "scontrol printed a partition without a name"};
        partition.has_node_facts = false;
        if (auto const group = average_nodes(pairs); group.count > 0) partition.nodes.push_back(group);
        partitions.push_back(std::move(partition));
    }
    return partitions;
}

Result<std::vector<Partition>> parse_partitions(std::string_view scontrol_output,
                                                std::string_view sinfo_output) {
    std::vector<Partition> partitions;
    for (auto const line : split_lines(scontrol_output)) {
        if (trim(line).empty()) continue;
        auto partition = partition_from(parse_pairs(line));
        if (partition.name.empty())
            return Error{codes::slurm_output, "scontrol printed a partition without a name"};
        partitions.push_back(std::move(partition));
    }
    for (auto const line : split_lines(sinfo_output)) {
        auto const fields = split(line, '|');
        if (fields.size() < sinfo_column_count) {
            return Error{codes::slurm_output, fmt::format("sinfo printed '{}'", line)};
        }
        auto const found = std::find_if(partitions.begin(), partitions.end(),
                                        [&](auto const& partition) { return partition.name == fields[0]; });
        if (found == partitions.end()) continue;  // the partition was removed between the two commands
        found->nodes.push_back({parse_integer<int>(fields[1]).value_or(0), parse_at_least<int>(fields[2]),
                                std::string(fields[4]), std::string(fields[7]), std::string(fields[5]),
                                std::string(fields[6]), parse_at_least<std::int64_t>(fields[3])});
    }
    return partitions;
}

}  // namespace det::slurm
