// What the supervisor decides about the nodes of its run.
#include "monitored_nodes.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "node_tree.hpp"

using namespace det::transport;
using namespace det::transport::node_messages;
using namespace std::chrono_literals;
using Milliseconds = std::chrono::milliseconds;

namespace monitored_nodes_test {

/// The supervisor of 300 nodes, with a clock of its own.
struct Supervisor {
    static constexpr int nodes = 300;
    TimePoint now{1000s};
    Reach reach = Reach::connected;  // of all nodes
    int attempts = 0;
    Milliseconds attempt_length{};
    std::map<int, FromSupervisor> answers;  // the last one to each node
    FrameHandler::Post post = [this](det::Rank to, std::string const& frame) {
        answers[to.value] = parse_from_supervisor(frame).value();
    };
    MonitoredNodes monitored{nodes,
                             std::nullopt,
                             det::UniqueFd(),
                             {[this] { return now; },
                              [this](auto const&, auto) {
                                  ++attempts;
                                  return [this, until = now + attempt_length](TimePoint at) {
                                      return at < until ? Reach::unknown : reach;
                                  };
                              }}};

    /// Its first beat follows, unless it is sent to another parent.
    bool join(int node, int failed_parent = -1, bool beats = true) {
        answers.erase(node);
        monitored.on_joined({node}, post);
        Hello const hello{1, failed_parent, det::Endpoint{"10.0.0.1", 9}};
        bool const is_taken = monitored.on_frame({node}, render(hello), post);
        bool const stays = is_taken && !answers.contains(node);
        if (!stays) monitored.on_left({node}, post);
        if (stays && beats) beat({1}, node);
        if (stays) answers.erase(node);
        return is_taken;
    }
    bool beat(Beat const& beat, int from = 0) { return monitored.on_frame({from}, render(beat), post); }
    void run(Milliseconds length) {
        for (auto const until = now + length; now < until;) {
            now += Milliseconds(FrameHandler::tick_ms);
            monitored.on_tick(now, post);
        }
    }
    NodeMonitor::Node seen(int node) const { return monitored.copy().at(static_cast<std::size_t>(node)); }
    int examined() const {
        return static_cast<int>(std::ranges::count_if(
            monitored.copy(), [](auto const& each) { return each.from_here != Reach::unknown; }));
    }
    /// The parent to which a node was sent; the supervisor if it may stay.
    int parent_of(int node) const {
        auto const found = answers.find(node);
        return found == answers.end() ? node_tree::supervisor : std::get<UseParent>(found->second).node;
    }
    std::vector<int> first_level() const { return node_tree::list_children(nodes, node_tree::supervisor); }
};

}  // namespace monitored_nodes_test

using namespace monitored_nodes_test;

BOOST_AUTO_TEST_SUITE(monitored_nodes_test)

BOOST_AUTO_TEST_CASE(a_node_is_sent_to_its_parent_and_after_a_failure_to_another_one) {
    Supervisor supervisor;
    for (int node : supervisor.first_level()) BOOST_TEST(supervisor.join(node));
    int const parent = supervisor.first_level().at(3);
    int const child = node_tree::list_children(Supervisor::nodes, parent).at(0);
    BOOST_TEST(supervisor.join(child));
    BOOST_TEST(supervisor.parent_of(child) == parent);
    std::set<int> parents{parent};
    for (int failed = parent, i = 0; i < 3; ++i) {
        BOOST_TEST(supervisor.join(child, failed));
        failed = supervisor.parent_of(child);
        BOOST_TEST(node_tree::find_parent(Supervisor::nodes, failed) == node_tree::supervisor);
        parents.insert(failed);
    }
    BOOST_TEST(parents.size() == 4u);
}

BOOST_AUTO_TEST_CASE(nodes_without_a_parent_stay_with_the_supervisor_until_it_has_enough) {
    Supervisor supervisor;
    auto const first_level = supervisor.first_level();
    int taken = 0;
    for (int node = 0; node < Supervisor::nodes; ++node) {
        if (std::ranges::find(first_level, node) != first_level.end()) continue;
        taken += supervisor.join(node) ? 1 : 0;
    }
    BOOST_TEST(taken == node_tree::children_max);
    for (int node : first_level) BOOST_TEST(supervisor.join(node));
    BOOST_TEST(supervisor.join(Supervisor::nodes - 1));
    BOOST_TEST(supervisor.parent_of(Supervisor::nodes - 1) == first_level.back());
}

BOOST_AUTO_TEST_CASE(a_beat_lets_nodes_be_heard_and_leave_and_a_wrong_one_is_refused) {
    Supervisor supervisor;
    BOOST_TEST(supervisor.join(0));
    BOOST_TEST(supervisor.join(1));
    auto const presence = [&] { return supervisor.monitored.copy().at(1).presence; };
    auto const send = [&](Beat const& beat) {
        return supervisor.monitored.on_frame({0}, render(beat), supervisor.post);
    };
    BOOST_TEST(send({1, {}, {{0, 2}, {4, 1}}}));
    BOOST_TEST(send({2, {}, {}, {{1, 2}}}));  // of another session
    BOOST_TEST((presence() == NodeMonitor::Presence::joined));
    BOOST_TEST(send({3, {}, {}, {{1, 1}}}));
    BOOST_TEST((presence() == NodeMonitor::Presence::left));
    BOOST_TEST(!send({4, {}, {{5, 1}}}));                                // node 320
    BOOST_TEST(!send({4, {}, {{4, std::uint64_t{1} << (300 - 256)}}}));  // node 300
    BOOST_TEST(!send({4, {}, {}, {{300, 1}}}));
}

BOOST_AUTO_TEST_CASE(a_node_was_killed_if_its_host_refuses_a_connection_when_its_own_has_ended) {
    Supervisor supervisor;
    auto const lose = [&](int node, Reach reach) {
        supervisor.reach = Reach::connected;
        BOOST_TEST(supervisor.join(node));
        supervisor.run(1s);
        supervisor.reach = reach;
        supervisor.monitored.on_left({node}, supervisor.post);
        supervisor.run(400ms);
        return supervisor.seen(node).is_killed;
    };
    int const node = supervisor.first_level().at(3);
    BOOST_TEST(lose(node, Reach::refused));
    // A fault of the network, or the connection alone.
    BOOST_TEST(!lose(node, Reach::unreachable));
    BOOST_TEST(!lose(node, Reach::connected));
    // It lives again.
    BOOST_TEST(lose(node, Reach::refused));
    BOOST_TEST(supervisor.join(node));
    BOOST_TEST(!supervisor.seen(node).is_killed);
    // It has said that it ends.
    BOOST_TEST(supervisor.monitored.on_frame({node}, render(Leaving{}), supervisor.post));
    BOOST_TEST(!lose(supervisor.first_level().at(4), Reach::connected));
    supervisor.reach = Reach::refused;
    supervisor.monitored.on_left({node}, supervisor.post);
    supervisor.run(400ms);
    BOOST_TEST(!supervisor.seen(node).is_killed);
}

BOOST_AUTO_TEST_CASE(a_refusal_says_nothing_about_a_node_that_has_never_accepted_a_connection) {
    Supervisor supervisor;
    supervisor.reach = Reach::refused;  // by a firewall
    int const node = supervisor.first_level().at(3);
    BOOST_TEST(supervisor.join(node));
    supervisor.run(1s);
    supervisor.monitored.on_left({node}, supervisor.post);
    supervisor.run(400ms);
    BOOST_TEST(!supervisor.seen(node).is_killed);
}

BOOST_AUTO_TEST_CASE(a_node_that_fails_with_four_parents_stays_with_the_supervisor_if_there_is_a_place) {
    Supervisor supervisor;
    for (int node : supervisor.first_level()) BOOST_TEST(supervisor.join(node));
    int const child = node_tree::list_children(Supervisor::nodes, supervisor.first_level().at(3)).at(0);
    auto const fail_four_times = [&] {
        for (int failed = -1, i = 0; i < 4; ++i) {
            BOOST_TEST(supervisor.join(child, failed));
            failed = supervisor.parent_of(child);
            BOOST_TEST(failed != node_tree::supervisor);
            if (i == 3) return supervisor.join(child, failed);
        }
        return false;
    };
    BOOST_TEST(fail_four_times());
    BOOST_TEST(supervisor.parent_of(child) == node_tree::supervisor);
    // Without a place it begins again with its parent.
    Supervisor full;
    for (int node = 0; node < Supervisor::nodes; ++node) {
        if (node != child && node_tree::find_parent(Supervisor::nodes, node) != node_tree::supervisor)
            (void)full.join(node);
    }
    for (int node : full.first_level()) BOOST_TEST(full.join(node));
    for (int failed = -1, i = 0; i < 5; ++i) {
        BOOST_TEST(full.join(child, failed) == (i < 4));
        failed = full.parent_of(child);
    }
    BOOST_TEST(full.join(child));
    BOOST_TEST(full.parent_of(child) == full.first_level().at(3));
}

BOOST_AUTO_TEST_CASE(only_a_node_whose_beats_come_is_a_parent) {
    Supervisor supervisor;
    int const parent = supervisor.first_level().at(3);
    int const child = node_tree::list_children(Supervisor::nodes, parent).at(0);
    BOOST_TEST(supervisor.join(parent, -1, false));
    BOOST_TEST(supervisor.join(child));
    BOOST_TEST(supervisor.parent_of(child) == node_tree::supervisor);
    BOOST_TEST(supervisor.beat({1}, parent));
    BOOST_TEST(supervisor.join(child));
    BOOST_TEST(supervisor.parent_of(child) == parent);
}

BOOST_AUTO_TEST_CASE(of_many_silent_nodes_each_is_examined_in_its_turn) {
    Supervisor supervisor;
    for (int node : supervisor.first_level()) BOOST_TEST(supervisor.join(node));
    for (int node = 0; node < Supervisor::nodes; ++node) {
        if (node_tree::find_parent(Supervisor::nodes, node) == node_tree::supervisor) continue;
        BOOST_TEST(supervisor.join(node));
    }
    supervisor.run(1s);
    supervisor.reach = Reach::unreachable;
    supervisor.attempt_length = 2500ms;
    supervisor.run(20s);
    BOOST_TEST(supervisor.examined() == Supervisor::nodes);
}

BOOST_AUTO_TEST_CASE(a_node_that_refuses_is_examined_less_and_less_often) {
    Supervisor supervisor;
    BOOST_TEST(supervisor.join(0));
    supervisor.run(1s);
    supervisor.reach = Reach::refused;
    supervisor.attempts = 0;
    supervisor.run(32s);
    BOOST_TEST(supervisor.attempts >= 3);
    BOOST_TEST(supervisor.attempts <= 5);  // after 3, 5, 9, 17 and 33 s
    // It leaves, and joins and is silent again: it is examined at once.
    BOOST_TEST(supervisor.monitored.on_frame({0}, render(Leaving{}), supervisor.post));
    BOOST_TEST(supervisor.join(0));
    supervisor.run(4s);
    BOOST_TEST((supervisor.seen(0).from_here == Reach::refused));
}

BOOST_AUTO_TEST_CASE(whether_a_node_can_be_reached_is_tried_again_later_and_when_it_connects_again) {
    Supervisor supervisor;
    auto const run_with_beats = [&](Milliseconds length) {
        for (auto passed = 0ms; passed < length; passed += 1s) {
            BOOST_TEST(supervisor.beat({1}));
            supervisor.run(1s);
        }
    };
    supervisor.reach = Reach::unreachable;
    BOOST_TEST(supervisor.join(0));
    run_with_beats(5s);
    BOOST_TEST(!supervisor.seen(0).can_be_reached);
    BOOST_TEST(supervisor.attempts == 1);
    supervisor.reach = Reach::connected;
    run_with_beats(10s);
    BOOST_TEST(supervisor.seen(0).can_be_reached);
    BOOST_TEST(supervisor.join(0));
    run_with_beats(30s);
    BOOST_TEST(supervisor.attempts == 2);
    // Two attempts have failed.
    supervisor.reach = Reach::refused;
    BOOST_TEST(supervisor.join(1));
    run_with_beats(60s);
    supervisor.reach = Reach::connected;
    BOOST_TEST(!supervisor.seen(1).can_be_reached);
    BOOST_TEST(supervisor.join(1));
    run_with_beats(1s);
    BOOST_TEST(supervisor.seen(1).can_be_reached);
}

BOOST_AUTO_TEST_SUITE_END()
