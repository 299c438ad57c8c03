// The tree of the nodes of a run, and what an inner node does with the messages of its children.
#include "node_tree.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <thread>

#include "subtree.hpp"
#include "uplink_silence.hpp"

using namespace det::transport;
using namespace det::transport::node_messages;
using namespace std::chrono_literals;
using Milliseconds = std::chrono::milliseconds;

namespace node_tree_test {

int depth_of(int nodes, int node) {
    int depth = 0;
    for (; node != node_tree::supervisor; node = node_tree::find_parent(nodes, node)) ++depth;
    return depth;
}

/// Node 5 of 200, and its descendants.
struct Fixture {
    Subtree::TimePoint now{1000s};
    Subtree subtree{200, 5};

    std::optional<BeatAnswer> take(int child, FromNode const& message, bool is_valid = true) {
        std::optional<BeatAnswer> answer;
        BOOST_TEST(subtree.take(child, message, now, answer) == is_valid);
        return answer;
    }
};

}  // namespace node_tree_test

using namespace node_tree_test;

BOOST_FIXTURE_TEST_SUITE(node_tree_test, Fixture)

BOOST_AUTO_TEST_CASE(a_run_of_up_to_64_nodes_is_one_level) {
    for (int nodes : {1, 2, 63, 64}) {
        for (int node = 0; node < nodes; ++node)
            BOOST_TEST(node_tree::find_parent(nodes, node) == node_tree::supervisor);
        BOOST_TEST(std::ssize(node_tree::list_children(nodes, node_tree::supervisor)) == nodes);
        BOOST_TEST(node_tree::list_children(nodes, 0).empty());
    }
}

BOOST_AUTO_TEST_CASE(parents_and_children_agree_and_nobody_has_more_than_64) {
    for (int nodes : {1, 64, 65, 80, 128, 300, 4160, 4161, 10'000, NodeMonitor::nodes_max}) {
        std::map<int, std::vector<int>> children;
        for (int node = 0; node < nodes; ++node)
            children[node_tree::find_parent(nodes, node)].push_back(node);
        for (auto const& [parent, of_parent] : children) {
            BOOST_REQUIRE(parent >= node_tree::supervisor);
            BOOST_REQUIRE(of_parent.size() <= static_cast<std::size_t>(node_tree::fan_out));
            BOOST_REQUIRE((of_parent == node_tree::list_children(nodes, parent)));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_tree_has_as_few_levels_as_64_children_allow) {
    std::map<int, int> const levels{{64, 1}, {65, 2}, {4160, 2}, {4161, 3}, {10'000, 3}, {16'384, 3}};
    for (auto const& [nodes, expected] : levels) {
        int deepest = 0;
        for (int node = 0; node < nodes; ++node) deepest = std::max(deepest, depth_of(nodes, node));
        BOOST_TEST(deepest == expected, nodes << " nodes: " << deepest);
    }
}

BOOST_AUTO_TEST_CASE(the_parent_of_the_tree_comes_first_then_its_siblings_then_the_next_level) {
    constexpr int nodes = 10'000;
    auto const level1 = node_tree::list_children(nodes, node_tree::supervisor);
    auto const level2 = node_tree::list_children(nodes, level1.at(1));
    int const leaf = node_tree::list_children(nodes, level2.at(0)).at(0);
    auto const all = [](int) { return true; };
    BOOST_TEST(node_tree::choose_parent(nodes, leaf, all) == level2.at(0));
    BOOST_TEST(node_tree::choose_parent(nodes, level1.at(3), all) == node_tree::supervisor);
    auto const without_parent = [&](int each) { return each != level2.at(0); };
    int const sibling = node_tree::choose_parent(nodes, leaf, without_parent);
    BOOST_TEST(sibling != level2.at(0));
    BOOST_TEST(node_tree::find_parent(nodes, sibling) == level1.at(1));
    auto const without_level = [&](int each) { return node_tree::find_parent(nodes, each) != level1.at(1); };
    BOOST_TEST(node_tree::choose_parent(nodes, leaf, without_level) == level1.at(1));
    auto const none = [](int) { return false; };
    BOOST_TEST(node_tree::choose_parent(nodes, leaf, none) == node_tree::supervisor);
}

BOOST_AUTO_TEST_CASE(the_children_of_a_lost_node_go_to_different_siblings_of_it_and_never_deeper) {
    constexpr int nodes = 4160;
    int const lost = node_tree::list_children(nodes, node_tree::supervisor).at(9);
    std::map<int, int> taken;
    for (int child : node_tree::list_children(nodes, lost)) {
        int const parent = node_tree::choose_parent(nodes, child, [&](int each) { return each != lost; });
        BOOST_TEST(depth_of(nodes, parent) < depth_of(nodes, child));
        ++taken[parent];
    }
    for (auto const& [parent, children] : taken) BOOST_TEST(children <= 2, parent);
}

BOOST_AUTO_TEST_CASE(a_beat_carries_what_was_heard_lately) {
    subtree.add_child(70, now);
    subtree.add_child(6, now);
    BOOST_TEST(subtree.make_beat({}, now).heard.empty());
    take(70, Beat{1, 4, {{1, 3}, {3, 1}}});
    take(6, Beat{1, 5});
    auto const beat = subtree.make_beat(10, now);
    BOOST_TEST((beat.heard == std::vector<NodeWord>{{0, 1U << 6}, {1, 3U | 1U << (70 - 64)}, {3, 1}}));
    BOOST_TEST(beat.activity.value() == 19u);
    // The beat of 70 comes somewhat late, then it is missing.
    now += 1100ms;
    take(6, Beat{2});
    BOOST_TEST(subtree.make_beat({}, now).heard.size() == 3u);
    now += 100ms;
    BOOST_TEST((subtree.make_beat({}, now).heard == std::vector<NodeWord>{{0, 1U << 6}}));
    subtree.remove_child(6);
    subtree.remove_child(70);
    auto const last = subtree.make_beat({}, now);
    BOOST_TEST(last.heard.empty());
    BOOST_TEST(!last.activity);
}

BOOST_AUTO_TEST_CASE(departures_go_up_until_they_are_answered) {
    subtree.add_child(70, now);
    take(70, Hello{33});
    take(70, Beat{1, {}, {}, {{71, 9}}});
    take(70, Leaving{});
    auto const beat = subtree.make_beat({}, now);
    BOOST_TEST((beat.departures == std::vector<Departure>{{70, 33}, {71, 9}}));
    subtree.take_answer({beat.number - 1, 0, 0, beat.number - 1}, now);
    auto const again = subtree.make_beat({}, now);
    BOOST_TEST((again.departures == beat.departures));
    subtree.take_answer({again.number, 0, 0, again.number}, now);
    BOOST_TEST(subtree.make_beat({}, now).departures.empty());
}

BOOST_AUTO_TEST_CASE(a_departure_that_has_reached_the_parent_only_is_sent_again) {
    subtree.add_child(70, now);
    take(70, Beat{1, {}, {}, {{71, 9}}});
    auto const beat = subtree.make_beat({}, now);
    subtree.take_answer({beat.number, 0, 0, 0}, now);
    BOOST_TEST(subtree.has_departures());
    BOOST_TEST((subtree.make_beat({}, now).departures == beat.departures));
}

BOOST_AUTO_TEST_CASE(a_child_that_leaves_is_answered_when_the_supervisor_knows_of_it_and_of_its_children) {
    subtree.add_child(70, now);
    subtree.add_child(6, now);
    take(70, Hello{33});
    BOOST_TEST(take(70, Beat{1})->known == 1u);
    BOOST_TEST(take(70, Beat{2, {}, {}, {{71, 9}}})->known == 1u);
    BOOST_TEST(subtree.has_unsent_departures());
    BOOST_TEST(subtree.has_new_departures(now));
    BOOST_TEST(!subtree.has_new_departures(now + 1s));
    auto const first = subtree.make_beat({}, now);
    BOOST_TEST(!subtree.has_unsent_departures());
    BOOST_TEST(take(70, Beat{3, {}, {}, {{71, 9}}})->known == 1u);
    take(70, Leaving{});
    subtree.take_answer({first.number, 0, 0, first.number}, now);
    BOOST_TEST(!subtree.has_known_children());  // that of 71 is known, and that of 70 is not
    BOOST_TEST(subtree.take_known_children().empty());
    auto const second = subtree.make_beat({}, now);
    BOOST_TEST((second.departures == std::vector<Departure>{{70, 33}}));
    subtree.take_answer({second.number, 0, 0, second.number}, now);
    BOOST_TEST(subtree.has_known_children());
    BOOST_TEST((subtree.take_known_children() == std::vector{70}));
    BOOST_TEST(subtree.take_known_children().empty());
    // What is known is not sent again, and another session of the node is something else.
    BOOST_TEST(take(6, Beat{1, {}, {}, {{71, 9}}})->known == 1u);
    BOOST_TEST(!subtree.has_departures());
    BOOST_TEST(take(6, Beat{2, {}, {}, {{71, 10}}})->known == 1u);
    BOOST_TEST(subtree.has_departures());
}

BOOST_AUTO_TEST_CASE(the_answer_to_the_last_message_of_a_node_confirms_what_it_has_sent) {
    subtree.add_child(70, now);
    subtree.add_child(6, now);
    take(70, Leaving{});
    (void)subtree.make_beat({}, now);
    take(6, Leaving{});  // too late: this node has said that it leaves
    subtree.take_leaving_known();
    BOOST_TEST((subtree.take_known_children() == std::vector{70}));
    BOOST_TEST(subtree.has_unsent_departures());
    subtree.wait_until_told(1min);
    // A child that has closed its connection waits for nothing.
    subtree.remove_child(6);
    subtree.begin_uplink();
    (void)subtree.make_beat({}, now);
    subtree.take_leaving_known();
    BOOST_TEST(!subtree.has_known_children());
}

BOOST_AUTO_TEST_CASE(a_child_that_connects_again_does_not_get_the_answer_to_its_earlier_session) {
    subtree.add_child(70, now);
    take(70, Hello{33});
    take(70, Leaving{});
    auto const beat = subtree.make_beat({}, now);
    subtree.take_answer({beat.number, 0, 0, beat.number}, now);
    BOOST_TEST(subtree.has_known_children());
    subtree.add_child(70, now);  // its Hello has not come yet
    BOOST_TEST(!subtree.has_known_children());
    BOOST_TEST(subtree.take_known_children().empty());
    take(70, Hello{34});
    take(70, Leaving{});
    BOOST_TEST(subtree.take_known_children().empty());  // of the new session nothing is known
}

BOOST_AUTO_TEST_CASE(many_departures_fill_several_beats) {
    for (int child = 6; child < 106; ++child) {
        subtree.add_child(child, now);
        take(child, Leaving{});
    }
    std::set<int> told;
    for (int i = 0; i < 2; ++i) {
        auto const beat = subtree.make_beat({}, now);
        BOOST_TEST(beat.departures.size() <= departures_max);
        for (auto const& departure : beat.departures) told.insert(departure.node);
        subtree.take_answer({beat.number, 0, 0, beat.number}, now);
    }
    BOOST_TEST(told.size() == 100u);
    BOOST_TEST(!subtree.has_departures());
}

BOOST_AUTO_TEST_CASE(departures_that_were_not_sent_come_before_those_that_were) {
    for (int child = 6; child < 106; ++child) {
        subtree.add_child(child, now);
        take(child, Leaving{});
    }
    std::set<int> told;
    for (int i = 0; i < 2; ++i) {
        auto const beat = subtree.make_beat({}, now);
        BOOST_TEST(beat.departures.size() == departures_max);
        BOOST_TEST(std::ranges::is_sorted(beat.departures, {}, &Departure::node));
        for (auto const& departure : beat.departures) told.insert(departure.node);
    }
    BOOST_TEST(told.size() == 100u);
    BOOST_TEST(!subtree.has_unsent_departures());
}

BOOST_AUTO_TEST_CASE(requests_are_passed_on_with_their_age) {
    subtree.add_child(6, now);
    auto answer = take(6, Beat{7}).value();
    BOOST_TEST(answer.number == 7u);
    BOOST_TEST(answer.requests == node_requests::look_for_newer_run);
    BOOST_TEST(!UplinkSilence::is_fresh(Milliseconds(answer.age_ms)));
    subtree.take_answer({1, node_requests::stop, 500}, now);
    answer = take(6, Beat{8}).value();
    BOOST_TEST(answer.requests == node_requests::stop);
    BOOST_TEST(answer.age_ms == 500u);
    now += 10s;
    answer = take(6, Beat{9}).value();
    BOOST_TEST(answer.requests == (node_requests::stop | node_requests::look_for_newer_run));
    BOOST_TEST(answer.age_ms == 10'500u);
}

BOOST_AUTO_TEST_CASE(what_is_not_of_a_child_of_this_node_is_refused) {
    take(6, Beat{1}, false);  // not connected
    subtree.add_child(5, now);
    take(5, Beat{1}, false);  // itself
    subtree.add_child(6, now);
    take(6, Examined{7, 1, Reach::refused}, false);
    take(6, Beat{1, {}, {{4, 1}}}, false);  // node 256 of 200
    take(6, Beat{1, {}, {}, {{200, 1}}}, false);
    BOOST_TEST(!subtree.is_replaceable(6, now + 2s));
    BOOST_TEST(subtree.is_replaceable(6, now + 3s));
}

BOOST_AUTO_TEST_CASE(nodes_that_do_not_exist_are_refused_from_the_child_that_names_them) {
    subtree.add_child(6, now);
    take(6, Beat{1, {}, {{3, std::uint64_t{1} << (199 - 192)}}});
    take(6, Beat{2, {}, {{3, std::uint64_t{1} << (200 - 192)}}}, false);
    Subtree full(128, 5);
    full.add_child(6, now);
    std::optional<BeatAnswer> answer;
    BOOST_TEST(full.take(6, Beat{1, {}, {{1, std::uint64_t{1} << 63}}}, now, answer));
}

BOOST_AUTO_TEST_CASE(a_child_too_many_is_refused_and_silent_children_are_not_counted) {
    int const last = 6 + node_tree::children_max;
    for (int child = 6; child < last; ++child) {
        subtree.add_child(child, now);
        take(child, Hello{1});
    }
    subtree.add_child(last, now);
    take(last, Hello{1}, false);
    subtree.remove_child(last);
    for (int child = 6; child < last; ++child) take(child, Beat{1});
    now += Subtree::replaceable_after;
    subtree.add_child(last, now);
    take(last, Hello{1});
}

BOOST_AUTO_TEST_CASE(a_late_answer_ends_departures_and_one_of_an_earlier_connection_does_not) {
    subtree.add_child(70, now);
    take(70, Hello{33});
    take(70, Leaving{});
    subtree.begin_uplink();
    auto const first = subtree.make_beat({}, now);
    (void)subtree.make_beat({}, now);
    subtree.begin_uplink();
    auto const again = subtree.make_beat({}, now);
    BOOST_TEST((again.departures == first.departures));
    subtree.take_answer({first.number, 0, 0, first.number}, now);
    BOOST_TEST(subtree.has_departures());
    (void)subtree.make_beat({}, now);
    (void)subtree.make_beat({}, now);
    subtree.take_answer({again.number, 0, 0, again.number}, now);
    BOOST_TEST(!subtree.has_departures());
}

BOOST_AUTO_TEST_CASE(a_node_waits_for_the_children_that_end_with_it) {
    now = std::chrono::steady_clock::now();
    auto const begin = now;
    subtree.wait_for_children(1min);  // there is none
    subtree.add_child(6, now);
    subtree.add_child(7, now - Subtree::replaceable_after);  // silent
    {
        std::jthread const child([&] { take(6, Leaving{}); });
        subtree.wait_for_children(1min);
    }
    BOOST_TEST(subtree.has_departures());
    subtree.add_child(6, std::chrono::steady_clock::now());
    subtree.wait_for_children(10ms);  // it goes on
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 30s));
}

BOOST_AUTO_TEST_CASE(a_silent_parent_is_left_and_a_late_supervisor_gets_time) {
    UplinkSilence to_node(false, 20s), to_supervisor(true, 20s);
    to_node.pass_time(2s);
    BOOST_TEST(!to_node.is_over());
    to_node.take_answer(0ms);
    to_node.pass_time(1h);  // this process did not run: 2 s count
    to_supervisor.pass_time(1h);
    BOOST_TEST(!to_node.is_over());
    to_node.pass_time(1s);
    BOOST_TEST(to_node.is_over());
    for (int i = 0; i < 6; ++i) to_supervisor.pass_time(2s);
    BOOST_TEST(!to_supervisor.is_over());
    to_supervisor.pass_time(2s);
    BOOST_TEST(to_supervisor.is_over());
    // The parent answers, and is itself not answered, from before this connection on.
    UplinkSilence cut(false, 20s);
    for (auto age = 60s; age < 78s; age += 2s) {
        cut.pass_time(2s);
        cut.take_answer(age);
        BOOST_TEST(!cut.is_over());
    }
    cut.pass_time(2s);
    cut.take_answer(80s);
    BOOST_TEST(cut.is_over());
    cut.take_answer(100ms);
    BOOST_TEST(!cut.is_over());
}

BOOST_AUTO_TEST_SUITE_END()
