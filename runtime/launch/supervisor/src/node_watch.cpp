#include "node_watch.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/network_addresses.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "gather_run_facts.hpp"

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;
using Slurm = NodeSilence::Slurm;

constexpr auto between_queries = 30s;  // of the nodes; the answer holds so long
/// A query that has no answer blocks the supervisor for about half a minute.
constexpr auto after_unanswered_query = 300s;
constexpr std::size_t addresses_max = 8;
constexpr int checks_until_reported = 2;

/// slurm.node_timeout
std::chrono::milliseconds find_limit(ExperimentSpec const& spec) {
    constexpr std::chrono::seconds usual = 10s;
    Json::json_pointer const key("/slurm/node_timeout");
    return spec.config->contains(key) ? std::chrono::seconds(spec.config->at(key).get<int>()) : usual;
}

}  // namespace

std::vector<std::string> own_addresses(Environment const& environment) {
    auto const preferred_interfaces = environment.find(variables::inter_node_network_interface).value_or("");
    auto all = list_interface_addresses();
    auto const preferred = split(preferred_interfaces, ',');
    std::stable_partition(all.begin(), all.end(), [&](auto const& each) {
        return std::ranges::find(preferred, std::string_view(each.interface)) != preferred.end();
    });
    std::vector<std::string> addresses;
    for (auto const& each : all) {
        if (!is_loopback_address(each.address) && addresses.size() < addresses_max)
            addresses.push_back(each.address);
    }
    return addresses.empty() ? std::vector<std::string>{"127.0.0.1"} : addresses;
}

std::unique_ptr<NodeWatch> NodeWatch::start(BatchJob const& batch_job, RunPlan const& run,
                                            RunLayout const& layout, SupervisorContext const& context) {
    auto hosts = expand_host_list(run.hosts);
    auto const nodes = run.shape.task_nodes;
    if (!hosts || nodes > transport::NodeMonitor::nodes_max || static_cast<int>(hosts->size()) < nodes)
        return nullptr;
    hosts->resize(static_cast<std::size_t>(nodes));
    auto const found = std::ranges::find(*hosts, batch_job.incarnation.batch_host);
    auto const own =
        found == hosts->end() ? std::nullopt : std::optional(static_cast<int>(found - hosts->begin()));
    auto const open = [&]() -> Result<std::unique_ptr<transport::NodeMonitor>> {
        DET_TRY_ASSIGN(auto const text, read_file(layout.rendezvous()));
        DET_TRY_ASSIGN(auto const rendezvous, parse_rendezvous_file(text));
        return transport::NodeMonitor::start(rendezvous.secret, nodes, own);
    };
    auto monitor = open();
    if (!monitor) {
        context.log(fmt::format("run {}: its nodes are watched by files only: {}", to_string(run.id),
                                monitor.error().message));
        return nullptr;
    }
    return std::unique_ptr<NodeWatch>(new NodeWatch(*std::move(monitor), context, to_string(run.id),
                                                    *std::move(hosts), own, find_limit(batch_job.spec)));
}

NodeWatch::NodeWatch(std::unique_ptr<transport::NodeMonitor> monitor, SupervisorContext const& context,
                     std::string run, std::vector<std::string> hosts, std::optional<int> own,
                     std::chrono::milliseconds limit)
    : monitor_(std::move(monitor)),
      context_(context),
      run_(std::move(run)),
      hosts_(std::move(hosts)),
      own_(own),
      limit_(limit),
      nodes_(hosts_.size()),
      logged_(hosts_.size()),
      unconnected_(hosts_.size()) {}

std::string NodeWatch::address() const {
    return transport::render_node_monitor_address(
        {monitor_->port(), static_cast<int>(hosts_.size()), own_addresses(context_.environment)});
}

std::chrono::milliseconds NodeWatch::gone_limit(BatchJob const& batch_job, Environment const& environment) {
    constexpr auto until_cut_is_noticed = 8s;  // after the last answer of the supervisor itself
    std::chrono::milliseconds const limit = silence_limit([&](auto name) { return environment.find(name); });
    return std::max(find_limit(batch_job.spec), limit / 2 + until_cut_is_noticed);
}

NodeContact NodeWatch::contact(int node) const {
    using Presence = transport::NodeMonitor::Presence;
    auto const& known = nodes_.at(static_cast<std::size_t>(node));
    if (known.presence == Presence::absent) return NodeContact::absent;
    if (known.presence == Presence::left) return NodeContact::left;
    return known.is_heard() ? NodeContact::heard : NodeContact::silent;
}

bool NodeWatch::has_connected(int node) const {
    auto const number = static_cast<std::size_t>(node);
    return number < nodes_.size() && nodes_[number].presence != transport::NodeMonitor::Presence::absent;
}

int NodeWatch::count_connected() const {
    int count = 0;
    for (int node = 0; node < std::ssize(nodes_); ++node) count += has_connected(node) ? 1 : 0;
    return count;
}

std::vector<int> NodeWatch::list_not_left(bool with_absent) const {
    using Presence = transport::NodeMonitor::Presence;
    std::vector<int> found;
    for (int node = 0; node < std::ssize(nodes_); ++node) {
        auto const presence = nodes_[static_cast<std::size_t>(node)].presence;
        if (presence == Presence::joined || (with_absent && presence == Presence::absent))
            found.push_back(node);
    }
    return found;
}

std::vector<NodeWatch::Lost> NodeWatch::find_lost() {
    monitor_->clear_event();
    update();
    std::vector<Lost> found;
    std::map<std::string_view, std::vector<std::string>> news;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        auto const judged = judge(node);
        // Each thing about a node is logged once, until the node is heard again.
        if (!judged.reason.empty() && std::exchange(logged_[node], judged.reason) != judged.reason)
            news[judged.reason].push_back(hosts_[node]);
        if (nodes_[node].is_heard() && !logged_[node].empty()) {
            news["is heard again"].push_back(hosts_[node]);
            logged_[node].clear();
        }
        bool const is_lost = judged.verdict == SilenceVerdict::lost;
        if (is_lost || judged.verdict == SilenceVerdict::gone)
            found.push_back({static_cast<int>(node), hosts_[node], is_lost});
    }
    for (auto const& [what, hosts] : news) log(hosts, what);
    return found;
}

bool NodeWatch::have_others_ended(std::vector<std::string> const& lost_hosts) const {
    using Presence = transport::NodeMonitor::Presence;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        bool const is_lost = std::ranges::find(lost_hosts, hosts_[node]) != lost_hosts.end();
        if (!is_lost && !nodes_[node].is_killed && nodes_[node].presence != Presence::left) return false;
    }
    return true;
}

bool NodeWatch::is_any_killed() const {
    return std::ranges::any_of(nodes_, &transport::NodeMonitor::Node::is_killed);
}

JudgedSilence NodeWatch::judge(std::size_t node) {
    auto const number = static_cast<int>(node);
    NodeSilence silent{nodes_[node], limit_, own_ == number, Slurm::not_asked};
    auto judged = judge_silence(silent);
    if (judged.verdict != SilenceVerdict::ask_slurm) return judged;
    silent.slurm = ask_slurm(hosts_[node]);
    return judge_silence(silent);
}

Slurm NodeWatch::ask_slurm(std::string const& host) {
    auto const now = context_.clock.steady_now();
    if (!asked_slurm_at_ ||
        now - *asked_slurm_at_ >= (has_slurm_answered_ ? between_queries : after_unanswered_query)) {
        auto const nodes = context_.slurm.query_nodes();
        asked_slurm_at_ = context_.clock.steady_now();
        has_slurm_answered_ = nodes.has_value();
        lost_hosts_.clear();
        for (auto const& node : nodes.value_or(std::vector<slurm::Node>())) {
            if (has_slurm_lost(node)) lost_hosts_.push_back(node.name);
        }
    }
    return std::ranges::find(lost_hosts_, host) != lost_hosts_.end() ? Slurm::lost : Slurm::says_nothing;
}

void NodeWatch::log(std::vector<std::string> const& hosts, std::string_view what) const {
    if (hosts.size() == 1)
        context_.log(fmt::format("run {}: node {} {}", run_, hosts.front(), what));
    else
        context_.log(fmt::format("run {}: each of {} nodes ({}) {}", run_, hosts.size(),
                                 compress_host_list(hosts), what));
}

std::optional<std::string> NodeWatch::find_activity(int node) const {
    auto const& known = nodes_.at(static_cast<std::size_t>(node));
    if (!known.is_heard()) return std::nullopt;
    return known.activity ? fmt::format("{:020}\n", *known.activity) : "";
}

void NodeWatch::report_unconnected(std::function<bool(int node)> const& has_file) {
    if (has_reported_unconnected_) return;
    std::vector<std::string> found;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        bool const is_unconnected = nodes_[node].presence == transport::NodeMonitor::Presence::absent &&
                                    has_file(static_cast<int>(node));
        unconnected_[node] = is_unconnected ? unconnected_[node] + 1 : 0;
        if (unconnected_[node] >= checks_until_reported) found.push_back(hosts_[node]);
    }
    if (found.empty()) return;
    has_reported_unconnected_ = true;
    auto const limit = silence_limit([&](auto name) { return context_.environment.find(name); });
    context_.log(
        fmt::format("run {}: {} cannot connect to port {} of this host, for example because of a "
                    "firewall: watched by files, and lost after {} s of silence",
                    run_, compress_host_list(found), monitor_->port(), limit.count()));
}

}  // namespace det::launch::supervisor
