// Up to 64 nodes are all connected to this process, which learns at once that the connection of one has
// ended. Of more nodes some are connected to others (NODE_MONITOR.md): they count as kept until they have
// been silent for three seconds, and every keeper as one with an interpreter, because the reports of several
// nodes come as one sum. That a keeper of such a job has ended is not certain then.
#include "warm_nodes.hpp"

#include <det/foundation/uuid.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "node_watch.hpp"

namespace det::launch::supervisor {
namespace {

using KeeperNode = transport::NodeMonitor::Node;
constexpr std::size_t nodes_of_one_level = 64;

}  // namespace

std::unique_ptr<WarmNodes> WarmNodes::start(BatchJob const& batch_job, SupervisorContext const& context) {
    auto hosts = expand_host_list(batch_job.hosts);
    if (!hosts || hosts->empty() || std::ssize(*hosts) > transport::NodeMonitor::nodes_max) return nullptr;
    auto const found = std::ranges::find(*hosts, batch_job.incarnation.batch_host);
    auto const own =
        found == hosts->end() ? std::nullopt : std::optional(static_cast<int>(found - hosts->begin()));
    auto const nodes = static_cast<int>(hosts->size());
    auto const secret = make_uuid();
    auto monitor = transport::NodeMonitor::start(secret, nodes, own);
    if (!monitor) {
        context.log(fmt::format("slurm.warm_start: on which nodes an interpreter waits is not known: {}",
                                monitor.error().message));
        return nullptr;
    }
    KeeperLinkPlace place{
        0, secret, batch_job.hosts, {(*monitor)->port(), nodes, own_addresses(context.environment)}};
    return std::unique_ptr<WarmNodes>(
        new WarmNodes(std::move(place), *std::move(hosts), *std::move(monitor)));
}

std::string WarmNodes::describe_place(std::uint64_t step) const {
    auto place = place_;
    place.step = step;
    return to_string(place);
}

bool WarmNodes::is_kept(KeeperNode const& node) const {
    if (node.presence != transport::NodeMonitor::Presence::joined || node.is_killed) return false;
    return node.is_connected || (hosts_.size() > nodes_of_one_level && node.is_heard());
}

bool WarmNodes::has_interpreter(KeeperNode const& node) const {
    if (!is_kept(node)) return false;
    return hosts_.size() > nodes_of_one_level ||
           (node.activity && KeeperReport::from_number(*node.activity).has_interpreter);
}

template <class Test>
std::vector<std::string> WarmNodes::select(Test const& test) const {
    auto const nodes = monitor_->nodes();
    std::vector<std::string> selected;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (test(nodes[i])) selected.push_back(hosts_[i]);
    }
    return selected;
}

std::vector<std::string> WarmNodes::find_waiting() const {
    return select([&](KeeperNode const& node) { return has_interpreter(node); });
}

std::vector<std::string> WarmNodes::find_kept() const {
    return select([&](KeeperNode const& node) { return is_kept(node); });
}

// A keeper that has never connected (a firewall, or it has just started) and one whose connection is broken
// may live. A node's last report stays known after its keeper's end, until another one reports: of a later
// step, whose keeper has found none there.
std::vector<std::string> WarmNodes::find_ended(std::uint64_t step,
                                               std::vector<std::string> const& hosts) const {
    if (hosts_.size() > nodes_of_one_level) return {};
    auto ended = select([&](KeeperNode const& node) {
        if (!node.activity) return false;
        auto const reported = KeeperReport::from_number(*node.activity).step;
        bool const is_gone = node.is_killed || node.presence == transport::NodeMonitor::Presence::left;
        return reported > step || (reported == step && is_gone);
    });
    std::erase_if(ended, [&](auto const& host) { return std::ranges::find(hosts, host) == hosts.end(); });
    return ended;
}

}  // namespace det::launch::supervisor
