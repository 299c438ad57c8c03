// A supervisor's NodeMonitor with thousands of simulated nodes. The monitor is the real one, on its own
// thread and behind real sockets: each node connects to it, is examined by it, and is sent to its parent.
// Between nodes messages are rendered and parsed as ever, and handed over in memory.
//   bench-node-tree NODES: needs 10.78.0.0/16 as addresses of this host
#include "node_tree.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <thread>

#include "frames.hpp"
#include "node_messages.hpp"
#include "node_silence.hpp"
#include "reach_attempt.hpp"
#include "subtree.hpp"
#include "uplink_silence.hpp"

namespace det::bench {
namespace {

using namespace std::chrono_literals;
using namespace transport;
using namespace transport::node_messages;
using launch::supervisor::judge_silence;
using launch::supervisor::NodeSilence;
using launch::supervisor::SilenceVerdict;
using std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds node_timeout = 10s;
constexpr char secret[] = "the secret of a run";

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    fmt::print(stderr, "bench-node-tree: {}\n", result.error().message);
    std::exit(1);
}

/// A file of the thread of the monitor.
std::filesystem::path monitor_thread() {
    for (auto const& entry : std::filesystem::directory_iterator("/proc/self/task"))
        if (must(read_file(entry.path() / "comm")) == "det-nodes3\n") return entry.path();
    std::exit(1);
}

std::chrono::nanoseconds cpu_time_of(std::filesystem::path const& thread) {
    std::ifstream times(thread / "schedstat");
    std::int64_t ns = 0;
    times >> ns;
    return std::chrono::nanoseconds(ns);
}

std::int64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::int64_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * 4096;
}

/// A node. It is connected to the supervisor by `client`, or to `parent` in memory.
struct SimulatedNode {
    std::unique_ptr<Subtree> subtree;
    UniqueFd listener;
    Endpoint endpoint;
    std::optional<FrameClient> client = {};
    std::optional<int> parent = {};
    UplinkSilence silence{true, 1h};
    TimePoint next_beat = {}, next_attempt = {};
    int failed_parent = -1;
    bool is_dead = false;
    std::vector<UniqueFd> fillers = {};
    struct Attempt {
        Examine asked;
        ReachAttempt reach;
    };
    std::vector<Attempt> attempts = {};
};

class Cluster {
public:
    Cluster(int count, std::uint16_t port) : port_(port), nodes_(static_cast<std::size_t>(count)) {
        auto const now = steady_clock::now();
        for (int i = 0; i < count; ++i) {
            auto& node = at(i);
            node.subtree = std::make_unique<Subtree>(count, i);
            auto const address = fmt::format("10.78.{}.{}", i / 250, 1 + i % 250);
            node.listener = must(listen_at(address));
            node.endpoint = {address, must(port_of(node.listener))};
            bool const is_first_level = node_tree::find_parent(count, i) == node_tree::supervisor;
            node.next_attempt = now + (is_first_level ? 0ms : draw(200ms, Milliseconds(200 + count)));
        }
    }

    SimulatedNode& at(int node) { return nodes_.at(static_cast<std::size_t>(node)); }

    /// Does what is due, for at least this time.
    void run(Milliseconds length) {
        auto const until = steady_clock::now() + length;
        do {
            auto const before = steady_clock::now();
            for (int i = 0; i < std::ssize(nodes_); ++i)
                if (!at(i).is_dead) advance(i, steady_clock::now());
            auto const passed = steady_clock::now() - before;
            if (passed < 20ms) std::this_thread::sleep_for(20ms - passed);
        } while (steady_clock::now() < until);
    }

    /// The host does not answer any more: the queue of its listener is full.
    void cut_power(int node) {
        auto& each = at(node);
        each.is_dead = true;
        (void)::listen(each.listener.get(), 0);
        for (int i = 0; i < 4; ++i) each.fillers.push_back(must(start_connecting(each.endpoint)));
    }

    std::int64_t sent_bytes() const { return sent_bytes_; }

private:
    Milliseconds draw(Milliseconds least, Milliseconds most) {
        return Milliseconds(std::uniform_int_distribution<long>(least.count(), most.count())(random_));
    }

    void advance(int i, TimePoint now) {
        auto& node = at(i);
        while (auto connection = UniqueFd(::accept4(node.listener.get(), nullptr, nullptr, SOCK_CLOEXEC))) {
        }
        if (node.client) receive(i, now);
        report(node, now);
        if (!node.client && !node.parent) {
            if (now >= node.next_attempt) connect(i, now);
            return;
        }
        auto const passed = std::chrono::duration_cast<Milliseconds>(now - last_at(i, now));
        node.silence.pass_time(passed);
        if (now >= node.next_beat) send_beat(i, now);
        if (node.silence.is_over()) lose_parent(i, now);
    }

    TimePoint last_at(int i, TimePoint now) {
        if (last_.size() < nodes_.size()) last_.resize(nodes_.size(), now);
        return std::exchange(last_[static_cast<std::size_t>(i)], now);
    }

    void connect(int i, TimePoint now) {
        auto& node = at(i);
        SessionKey const key{secret, purpose, static_cast<int>(nodes_.size())};
        auto client = FrameClient::join({"127.0.0.1", port_}, key, {i}, now + 3s);
        node.next_attempt = now + draw(250ms, 500ms);
        if (!client) return;
        node.client = *std::move(client);
        node.silence = UplinkSilence(true, 1h);
        Hello const hello{static_cast<std::uint32_t>(i), std::exchange(node.failed_parent, -1),
                          node.endpoint};
        send(i, hello, now);
        if (node.client) send_beat(i, now);
    }

    void send_beat(int i, TimePoint now) {
        at(i).next_beat = now + NodeBeats::interval;
        send(i, at(i).subtree->make_beat(std::nullopt, now), now);
    }

    void send(int i, FromNode const& message, TimePoint now) {
        auto& node = at(i);
        auto const frame = render(message);
        if (node.client) {
            sent_bytes_ += static_cast<std::int64_t>(frame.size());
            if (!node.client->send(frame, now + 3s)) lose_parent(i, now);
            return;
        }
        if (at(*node.parent).is_dead) return;
        std::optional<BeatAnswer> answer;
        if (!at(*node.parent).subtree->take(i, parse_from_node(frame).value(), now, answer))
            return lose_parent(i, now);
        if (answer) take(i, parse_from_supervisor(render(*answer)).value(), now);
    }

    void receive(int i, TimePoint now) {
        auto& node = at(i);
        for (;;) {
            pollfd entry{node.client->fd(), POLLIN, 0};
            if (::poll(&entry, 1, 0) <= 0) return;
            auto const frame = node.client->receive(answer_limit_bytes, now + 3s);
            auto const message = frame ? parse_from_supervisor(*frame) : std::nullopt;
            if (!message) return lose_parent(i, now);
            take(i, *message, now);
            if (!node.client) return;
        }
    }

    void take(int i, FromSupervisor const& message, TimePoint now) {
        auto& node = at(i);
        if (auto const* answer = std::get_if<BeatAnswer>(&message)) {
            node.silence.take_answer(Milliseconds(answer->age_ms));
            node.subtree->take_answer(*answer, now);
        } else if (auto const* examine = std::get_if<Examine>(&message)) {
            node.attempts.push_back({*examine, {examine->listener, now}});
        } else {
            int const parent = std::get<UseParent>(message).node;
            node.client.reset();
            if (at(parent).is_dead) {
                node.failed_parent = parent;
                return;
            }
            node.parent = parent;
            at(parent).subtree->add_child(i, now);
            node.subtree->begin_uplink();
            node.silence = UplinkSilence(false, 1h);
            node.next_beat = now;
            send(i, Hello{static_cast<std::uint32_t>(i)}, now);
        }
    }

    void lose_parent(int i, TimePoint now) {
        auto& node = at(i);
        if (node.parent) {
            node.failed_parent = *node.parent;
            at(*node.parent).subtree->remove_child(i);
        }
        node.parent.reset();
        node.client.reset();
        node.next_attempt = now + draw(250ms, 500ms);
    }

    static void report(SimulatedNode& node, TimePoint now) {
        std::erase_if(node.attempts, [&](auto& attempt) {
            auto const reach = attempt.reach.result(now);
            if (reach == Reach::unknown) return false;
            if (node.client)
                (void)node.client->send(render(Examined{attempt.asked.node, attempt.asked.round, reach}),
                                        now + 3s);
            return true;
        });
    }

    std::uint16_t port_;
    std::minstd_rand random_{1};
    std::vector<SimulatedNode> nodes_;
    std::vector<TimePoint> last_;
    std::int64_t sent_bytes_ = 0;
};

/// Waits for the monitor's event, as the supervisor does, and decides.
class Judge {
public:
    explicit Judge(NodeMonitor& monitor) : monitor_(monitor) {}

    /// The nodes that are lost now.
    std::vector<int> find_lost() {
        pollfd event{monitor_.fd(), POLLIN, 0};
        if (::poll(&event, 1, 0) <= 0) return {};
        monitor_.clear_event();
        std::vector<int> lost;
        auto const nodes = monitor_.nodes();
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            NodeSilence const silent{nodes[i], node_timeout, false, NodeSilence::Slurm::says_nothing};
            auto const verdict = judge_silence(silent).verdict;
            if (verdict == SilenceVerdict::lost || verdict == SilenceVerdict::gone)
                lost.push_back(static_cast<int>(i));
        }
        return lost;
    }

private:
    NodeMonitor& monitor_;
};

int heard(NodeMonitor const& monitor) {
    return static_cast<int>(std::ranges::count_if(monitor.nodes(), &NodeMonitor::Node::is_heard));
}

void print_row(std::string const& name, double value, char const* unit, std::string const& more = {}) {
    fmt::print("{{\"name\": \"node-tree-{}\", \"ours\": {:.4g}, \"unit\": \"{}\"{}}}\n", name, value, unit,
               more);
    (void)std::fflush(stdout);
}

/// Cuts the power of nodes, and prints how long it takes until all of them are lost.
/// \return false if a node that lives was called lost, or not all were found
bool measure_loss(std::string const& name, Cluster& cluster, NodeMonitor& monitor, std::vector<int>& dead,
                  std::vector<int> const& victims) {
    Judge judge(monitor);
    auto const from = steady_clock::now();
    for (int node : victims) {
        cluster.cut_power(node);
        dead.push_back(node);
    }
    std::optional<double> first, last;
    double longest_silence = 0;  // of nodes that live
    for (auto const until = from + 30s; !last && steady_clock::now() < until;) {
        cluster.run(0ms);
        auto const lost = judge.find_lost();
        for (int node : lost)
            if (std::ranges::find(dead, node) == dead.end()) {
                fmt::print(stderr, "node {} lives, and was called lost\n", node);
                return false;
            }
        auto const passed = std::chrono::duration<double>(steady_clock::now() - from).count();
        auto const found = std::ranges::count_if(
            victims, [&](int node) { return std::ranges::find(lost, node) != lost.end(); });
        if (found > 0 && !first) first = passed;
        if (found == std::ssize(victims)) last = passed;
        auto const nodes = monitor.nodes();
        for (int i = 0; i < std::ssize(nodes); ++i)
            if (std::ranges::find(dead, i) == dead.end())
                longest_silence = std::max(
                    longest_silence,
                    std::chrono::duration<double>(nodes[static_cast<std::size_t>(i)].silence).count());
    }
    if (!last) {
        fmt::print(stderr, "{}: not all were found\n", name);
        return false;
    }
    print_row(name, *last, "s",
              fmt::format(", \"first\": {:.4g}, \"nodes\": {}, \"silence-of-living\": {:.4g}", *first,
                          victims.size(), longest_silence));
    return true;
}

int run(int count) {
    auto const before_bytes = resident_bytes();
    auto monitor = must(NodeMonitor::start(secret, count, std::nullopt));
    auto const thread = monitor_thread();
    auto const monitor_bytes = resident_bytes() - before_bytes;
    monitor->confirm_newest_run(1h);
    Cluster cluster(count, monitor->port());
    auto const begin = steady_clock::now();
    while (heard(*monitor) < count && steady_clock::now() < begin + 120s) cluster.run(100ms);
    if (heard(*monitor) < count) return 1;
    auto const joined_in = std::chrono::duration<double>(steady_clock::now() - begin).count();
    print_row("join", joined_in, "s",
              fmt::format(", \"nodes\": {}, \"cpu-s\": {:.4g}", count,
                          std::chrono::duration<double>(cpu_time_of(thread)).count()));
    cluster.run(10s);
    constexpr auto length = 30s;
    auto const cpu_before = cpu_time_of(thread);
    auto const bytes_before = cluster.sent_bytes();
    auto const from = steady_clock::now();
    cluster.run(length);
    auto const passed = std::chrono::duration<double>(steady_clock::now() - from).count();
    auto const used = std::chrono::duration<double>(cpu_time_of(thread) - cpu_before).count();
    print_row("cpu", 100 * used / passed, "% of a core", R"(, "peer": 5)");
    print_row("received", static_cast<double>(cluster.sent_bytes() - bytes_before) / passed, "B/s");
    auto const connections = std::ranges::count_if(monitor->nodes(), &NodeMonitor::Node::is_connected);
    print_row("memory", static_cast<double>(monitor_bytes), "B",
              fmt::format(", \"connections\": {}", connections));
    std::vector<int> dead;
    auto const first_level = node_tree::list_children(count, node_tree::supervisor);
    int const inner = first_level.at(5);
    int const leaf = node_tree::list_children(count, first_level.at(9)).at(1);
    int const leaf_of_leaf =
        node_tree::list_children(count, leaf).empty() ? leaf : node_tree::list_children(count, leaf).front();
    std::vector<int> subtree;
    for (int node = first_level.at(20); node < first_level.at(21); ++node) subtree.push_back(node);
    bool is_good = measure_loss("dead-leaf", cluster, *monitor, dead, {leaf_of_leaf});
    is_good = is_good && measure_loss("dead-inner", cluster, *monitor, dead, {inner});
    is_good = is_good && measure_loss("dead-subtree", cluster, *monitor, dead, subtree);
    cluster.run(5s);
    return is_good && heard(*monitor) == count - static_cast<int>(dead.size()) ? 0 : 1;
}

}  // namespace
}  // namespace det::bench

int main(int argc, char** argv) {
    auto const count = argc == 2 ? det::parse_integer<int>(argv[1]) : std::nullopt;
    if (!count || *count < 4200 || *count > 10'000) {
        fmt::print(stderr, "usage: bench-node-tree NODES (4200 to 10000)\n");
        return 2;
    }
    return det::bench::run(*count);
}
