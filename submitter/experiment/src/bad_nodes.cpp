#include "bad_nodes.hpp"

#include <det/journal/bad_nodes.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace det::experiment {
namespace {

constexpr std::int64_t default_memory_hours = 24;
constexpr std::int64_t hour_us = std::int64_t{3600} * 1'000'000;

/// The hosts of recent records.
std::set<std::string> recent_hosts(std::vector<journal::BadNode> const& nodes, UtcTime now,
                                   std::int64_t hours) {
    std::set<std::string> hosts;
    for (auto const& node : nodes) {
        if (now.microseconds - node.time.microseconds < hours * hour_us) hosts.insert(node.host);
    }
    return hosts;
}

/// The hosts that are nodes of the partition. sbatch refuses names that Slurm does not know.
std::vector<std::string> hosts_of_partition(std::set<std::string> const& hosts, std::string const& partition,
                                            std::vector<slurm::Node> const& nodes) {
    std::set<std::string> found;
    for (auto const& node : nodes) {
        if (node.partition == partition && hosts.contains(node.name)) found.insert(node.name);
    }
    return {found.begin(), found.end()};
}

}  // namespace

void exclude_bad_nodes(plan::SubmissionPlan& plan, config::ExperimentConfig const& config,
                       RootLayout const& root, Context& context) {
    auto const hours = config.slurm.bad_node_memory_hours.value_or(default_memory_hours);
    auto const remembered = journal::load_bad_nodes(root);
    if (!remembered) return;
    auto const hosts = recent_hosts(*remembered, context.clock.now(), hours);
    if (hosts.empty()) return;
    auto const nodes = context.slurm.query_nodes();
    if (!nodes) return;
    auto const bad = hosts_of_partition(hosts, plan.pool.partition, *nodes);
    if (bad.empty()) return;
    auto const list = compress_host_list(bad);
    if (plan.nodes_up - static_cast<int>(bad.size()) < plan.nodes()) {
        context.on_message(
            fmt::format("runs failed on {} within the last {} hours, but without them too few nodes "
                        "are left: they may be used",
                        list, hours));
        return;
    }
    plan.exclude += plan.exclude.empty() ? list : "," + list;
    context.on_message(fmt::format(
        "without {}: runs failed there within the last {} hours (slurm.bad_node_memory)", list, hours));
}

}  // namespace det::experiment
