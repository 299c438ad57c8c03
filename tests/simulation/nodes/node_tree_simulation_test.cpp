// Runs of hundreds and thousands of nodes that die at random times, with a clock of their own.
// DET_SIMULATION_SEED is the first seed, DET_SIMULATION_SEEDS their number.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <set>

#include "../search/seeds.hpp"
#include "node_tree.hpp"
#include "simulated_run.hpp"

using namespace det;
using namespace det::simulation;
using namespace std::chrono_literals;
using transport::NodeMonitor;
namespace node_tree = transport::node_tree;

namespace node_tree_simulation_test {

constexpr auto node_timeout = 10s;
constexpr std::chrono::milliseconds noticed_within = node_timeout + 3s;

void start(SimulatedRun& run) {
    for (int i = 0; i < 60 && !run.are_all_heard(); ++i) run.run(1s);
    BOOST_REQUIRE(run.are_all_heard());
    run.run(5s);
    BOOST_TEST_MESSAGE(
        "the longest silence while they joined: " << run.take_longest_silence_of_living().count() << " ms");
}

/// Each dead node was found in time, and no other one.
void check_found(SimulatedRun const& run, std::size_t dead) {
    auto const found = run.found();
    BOOST_TEST(found.size() == dead);
    for (auto const& each : found) {
        BOOST_TEST((each.after >= 0ms), "node " << each.node << " lives");
        BOOST_TEST((each.after <= noticed_within),
                   "node " << each.node << " was found after " << each.after.count() << " ms");
    }
}

}  // namespace node_tree_simulation_test

using namespace node_tree_simulation_test;

BOOST_AUTO_TEST_SUITE(node_tree_simulation_test)

BOOST_AUTO_TEST_CASE(nodes_that_die_at_random_times_are_found_in_time_and_no_other_one) {
    constexpr int nodes = 300, deaths = 20;
    auto const seeds = chosen_seeds(1, 10);
    for (auto seed = seeds.begin; seed < seeds.end; ++seed) {
        BOOST_TEST_CONTEXT("DET_SIMULATION_SEED=" << seed) {
            SimulatedRun run(nodes, seed, node_timeout);
            start(run);
            std::minstd_rand random(seed + 1000);
            std::set<int> dead;
            while (std::ssize(dead) < deaths) {
                // Inner nodes as often as leaves.
                auto const inner = node_tree::list_children(nodes, node_tree::supervisor);
                int const node =
                    random() % 2 == 0 ? inner[random() % inner.size()] : static_cast<int>(random() % nodes);
                if (!dead.insert(node).second) continue;
                random() % 2 == 0 ? run.cut_power(node) : run.kill(node);
                run.run(std::chrono::milliseconds(random() % 4000));
            }
            run.run(noticed_within);
            check_found(run, dead.size());
            BOOST_TEST(run.connected_to_supervisor() <= node_tree::children_max);
            BOOST_TEST((run.take_longest_silence_of_living() < node_timeout));
        }
    }
}

BOOST_AUTO_TEST_CASE(nodes_that_are_suspended_at_random_times_are_never_called_lost) {
    constexpr int nodes = 300;
    auto const seeds = chosen_seeds(1, 5);
    for (auto seed = seeds.begin; seed < seeds.end; ++seed) {
        BOOST_TEST_CONTEXT("DET_SIMULATION_SEED=" << seed) {
            SimulatedRun run(nodes, seed, node_timeout);
            start(run);
            std::minstd_rand random(seed);
            std::vector<int> suspended;
            for (int i = 0; i < 10; ++i) {
                suspended.push_back(static_cast<int>(random() % nodes));
                run.suspend(suspended.back());
                run.run(std::chrono::milliseconds(random() % 4000));
            }
            run.run(20s);
            for (int node : suspended) run.resume(node);
            run.run(10s);
            BOOST_TEST(run.are_all_heard());
            check_found(run, 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_does_not_run_for_a_minute_calls_no_node_lost) {
    SimulatedRun run(300, 1, node_timeout);
    start(run);
    for (auto const pause : {5s, 12s, 60s}) {
        run.suspend_supervisor();
        run.run(pause);
        run.resume_supervisor();
        run.run(30s);
        BOOST_TEST(run.are_all_heard());
        check_found(run, 0);
    }
}

BOOST_AUTO_TEST_CASE(a_cut_between_the_supervisor_and_an_inner_node_ends_nothing) {
    constexpr int nodes = 300;
    SimulatedRun run(nodes, 1, node_timeout);
    start(run);
    int const inner = node_tree::list_children(nodes, node_tree::supervisor).at(3);
    run.cut_path(inner);
    run.run(60s);
    // Its children are not cut, and have gone to other parents.
    auto const seen = run.seen();
    BOOST_TEST(!seen.at(static_cast<std::size_t>(inner)).is_heard());
    BOOST_TEST(std::ranges::count_if(seen, &NodeMonitor::Node::is_heard) == nodes - 1);
    run.heal_path(inner);
    run.run(30s);
    BOOST_TEST(run.are_all_heard());
    check_found(run, 0);
}

BOOST_AUTO_TEST_CASE(a_subtree_without_power_is_found_in_time) {
    constexpr int nodes = 4500;  // three levels
    SimulatedRun run(nodes, 1, node_timeout);
    start(run);
    auto const first_level = node_tree::list_children(nodes, node_tree::supervisor);
    int const begin = first_level.at(7), end = first_level.at(8);
    auto const is_inside = [&](int node) { return node >= begin && node < end; };
    // Nodes that have joined before their own parent may have got one of this subtree.
    int adopted = 0;
    for (int node = 0; node < nodes; ++node)
        adopted += !is_inside(node) && is_inside(run.parent_of(node).value()) ? 1 : 0;
    for (int node = begin; node < end; ++node) run.cut_power(node);
    run.run(noticed_within);
    check_found(run, static_cast<std::size_t>(end - begin));
    BOOST_TEST_MESSAGE(adopted << " other nodes had a parent there");
    BOOST_TEST((run.take_longest_silence_of_living() < (adopted > 0 ? 7s : 3s)));
    BOOST_TEST_MESSAGE("the largest message of " << nodes << " nodes: " << run.largest_beat_bytes()
                                                 << " bytes");
}

BOOST_AUTO_TEST_CASE(the_64_children_of_a_dead_inner_node_are_heard_by_others) {
    constexpr int nodes = 4160;
    for (bool const is_killed : {false, true}) {
        SimulatedRun run(nodes, 1, node_timeout);
        start(run);
        int const inner = node_tree::list_children(nodes, node_tree::supervisor).at(5);
        BOOST_TEST(node_tree::list_children(nodes, inner).size() == 64u);
        int const most_before = run.most_children();
        is_killed ? run.kill(inner) : run.cut_power(inner);
        run.run(noticed_within);
        check_found(run, 1);
        BOOST_TEST((run.take_longest_silence_of_living() < (is_killed ? 3s : 7s)));
        BOOST_TEST(run.connected_to_supervisor() <= node_tree::fan_out);
        BOOST_TEST(run.most_children() <= most_before + 3);
    }
}

BOOST_AUTO_TEST_CASE(nodes_that_end_in_order_are_not_called_gone) {
    constexpr int nodes = 300;
    SimulatedRun run(nodes, 1, node_timeout);
    start(run);
    for (int node : {299, 0, 1, 150, 4}) {
        run.leave(node);
        run.run(300ms);
    }
    run.run(noticed_within);
    for (int node : {299, 0, 1, 150, 4})
        BOOST_TEST((run.seen().at(static_cast<std::size_t>(node)).presence == NodeMonitor::Presence::left),
                   node);
    check_found(run, 0);
}

BOOST_AUTO_TEST_SUITE_END()
