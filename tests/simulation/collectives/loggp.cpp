#include "loggp.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <queue>

namespace det::simulation {
namespace {

using namespace collectives;

/// A message, and the time from which it can be received.
struct Arrival {
    int from;
    double time;
};

struct Node {
    Schedule schedule;
    std::size_t next = 0;
    double free_at = 0;      // when the processor is free
    double out_free_at = 0;  // when the link is free, for sending and for receiving
    double in_free_at = 0;
    int waits_for = -1;
    std::vector<Arrival> arrived;  // not received yet; those of one sender in the order of its sends
};

class Simulation {
public:
    Simulation(ScheduleOf const& schedule_of, int ranks, double size_bytes, LogGP const& network)
        : nodes_(static_cast<std::size_t>(ranks)), size_bytes_(size_bytes), network_(network) {
        for (int rank = 0; rank < ranks; ++rank) {
            at(rank).schedule = schedule_of(rank);
            ready_.emplace(0.0, rank);
        }
    }

    double run() {
        double end = 0;
        while (!ready_.empty()) {
            int const rank = ready_.top().second;
            ready_.pop();
            auto& node = at(rank);
            if (node.next == node.schedule.steps.size()) {
                end = std::max(end, node.free_at);
                ++ended_;
            } else if (advance(rank, node)) {
                ready_.emplace(node.free_at, rank);
            }
        }
        assert(ended_ == nodes_.size());  // otherwise ranks wait for each other forever
        return end;
    }

private:
    using Event = std::pair<double, int>;  // the time at which a rank continues; the lowest rank first

    Node& at(int rank) { return nodes_[static_cast<std::size_t>(rank)]; }

    double bytes_of(Node const& node, BlockRange blocks) const {
        return size_bytes_ * (blocks.end - blocks.begin) / node.schedule.blocks;
    }

    /// Simulates the next step of a rank. Returns false if the rank must wait for a message.
    bool advance(int rank, Node& node) {
        auto const& step = node.schedule.steps[node.next];
        auto const bytes = bytes_of(node, step.blocks);
        if (step.action == Action::send) {
            send(rank, node, step.peer.value, bytes);
        } else if (step.action != Action::finish) {
            auto const message = std::ranges::find(node.arrived, step.peer.value, &Arrival::from);
            if (message == node.arrived.end()) {
                node.waits_for = step.peer.value;
                return false;
            }
            auto const combining = step.action == Action::receive ? 0 : network_.combining * bytes;
            node.free_at = std::max(node.free_at, message->time) + network_.overhead + combining;
            node.arrived.erase(message);
        }
        ++node.next;
        return true;
    }

    void send(int rank, Node& node, int peer, double bytes) {
        auto const wire_time = network_.per_byte * bytes;
        node.free_at += network_.overhead;
        auto const begins = std::max(node.free_at, node.out_free_at);
        node.out_free_at = begins + wire_time;
        auto& receiver = at(peer);
        auto const first_byte = std::max(begins + network_.latency, receiver.in_free_at);
        receiver.in_free_at = first_byte + wire_time;
        receiver.arrived.push_back({rank, receiver.in_free_at});
        if (receiver.waits_for == rank) {
            receiver.waits_for = -1;
            ready_.emplace(std::max(receiver.free_at, node.free_at), peer);
        }
    }

    std::vector<Node> nodes_;
    double size_bytes_;
    LogGP network_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> ready_;
    std::size_t ended_ = 0;
};

double log2_of(int ranks) { return std::log2(static_cast<double>(ranks)); }

}  // namespace

double simulate(ScheduleOf const& schedule_of, int ranks, double size_bytes, LogGP const& network) {
    return Simulation(schedule_of, ranks, size_bytes, network).run();
}

double simulate(Plan const& plan, int ranks, double size_bytes, LogGP const& network) {
    auto const blocks_bytes = plan.kind == Kind::all_to_all ? 2 * size_bytes : size_bytes;  // in and out
    return simulate(
        [&](int rank) {
            return schedule_of({.kind = plan.kind,
                                .algorithm = plan.algorithm,
                                .rank = {rank},
                                .ranks = ranks,
                                .segments = plan.segments});
        },
        ranks, blocks_bytes, network);
}

bool is_symmetric(Plan const& plan) { return plan.algorithm == Algorithm::ring; }

double price_by_symmetry(Plan const& plan, int ranks, double size_bytes, LogGP const& network) {
    // Two ranks that exchange one block take as long as any number of ranks of which each passes one block
    // on.
    auto const step = [&](Action action) {
        return simulate(
            [&](int rank) {
                return Schedule{1, {{Action::send, {1 - rank}, {0, 1}}, {action, {1 - rank}, {0, 1}}}};
            },
            2, size_bytes / ranks, network);
    };
    auto const combining = plan.kind == Kind::allgather_elements ? 0 : step(Action::combine_below);
    auto const passing_on = plan.kind == Kind::reduce_scatter ? 0 : step(Action::receive);
    return (ranks - 1) * (combining + passing_on);
}

Formula formula_for(Plan const& plan, int ranks, double size_bytes, LogGP const& network) {
    auto const [latency, overhead, per_byte, combining] = network;
    double const alpha = latency + 2 * overhead, steps = std::ceil(log2_of(ranks));
    double const share = size_bytes * (ranks - 1) / ranks;
    bool const combines = plan.kind != Kind::broadcast && plan.kind != Kind::allgather_elements;
    // In both ways: blocks are first reduced or scattered, then gathered.
    bool const is_both_ways =
        plan.kind == Kind::allreduce || plan.kind == Kind::broadcast || plan.kind == Kind::reduce;
    double const ways = is_both_ways ? 2 : 1, added = combines ? combining : 0;
    double const segment = size_bytes / plan.segments;
    switch (plan.algorithm) {
        case Algorithm::recursive_doubling:
            if (plan.kind == Kind::allgather_elements) return {steps * alpha + share * per_byte};
            return {steps * (alpha + size_bytes * (per_byte + combining))};
        case Algorithm::ring:
            return {ways * (ranks - 1) * alpha + share * (ways * per_byte + added)};
        case Algorithm::halving_doubling:
            return {ways * steps * alpha + share * (ways * per_byte + added)};
        case Algorithm::binomial_tree:
            return {steps * (alpha + size_bytes * (per_byte + added)), plan.segments == 1};
        case Algorithm::chain:
            return {(ranks - 1) * (alpha + segment * (per_byte + added)) +
                        (plan.segments - 1) * std::max(segment * per_byte, 2 * overhead + segment * added),
                    false};
        case Algorithm::pairs:
            return {std::max(alpha + share * per_byte, (ranks - 1) * 2 * overhead), false};
        case Algorithm::double_tree:
            break;
    }
    // A lower bound for two full trees.
    return {(log2_of(ranks) - 1) * alpha + size_bytes * per_byte, false};
}

}  // namespace det::simulation
