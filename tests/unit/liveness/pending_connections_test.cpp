#include <det/liveness/pending_connections.hpp>

#include <boost/test/unit_test.hpp>

using namespace det::liveness;
using namespace std::chrono_literals;

namespace pending_connections_test {

using Origin = PendingConnections::Origin;
using Id = PendingConnections::Id;

/// A listener with a clock of its own.
struct Listener {
    PendingConnections::TimePoint const start{};
    PendingConnections::TimePoint now = start;
    PendingLimits limits{.connections = 8, .of_one_source = 3, .failures_per_s = 500};
    PendingConnections pending{limits, now};
    Id next = 1;
    std::vector<Id> closed;

    /// Accepts a connection if that is allowed, and closes those that are too many.
    Id accept(std::string const& source, Origin origin = Origin::stranger) {
        if (!pending.may_accept(now)) return 0;
        pending.add(next, source, origin, now);
        close_excess();
        return next++;
    }
    void close_excess() {
        while (auto const excess = pending.find_excess(now)) {
            pending.remove_failed(*excess);
            closed.push_back(*excess);
        }
    }
};

}  // namespace pending_connections_test

BOOST_FIXTURE_TEST_SUITE(pending_connections_test, Listener)

BOOST_AUTO_TEST_CASE(a_source_at_its_limit_loses_its_oldest_connection) {
    for (int i = 0; i < 3; ++i) accept("a");
    accept("b");
    BOOST_TEST(closed.empty());
    accept("a");
    BOOST_TEST(closed == std::vector<Id>{1}, boost::test_tools::per_element());
    BOOST_TEST(pending.size() == 4u);
}

BOOST_AUTO_TEST_CASE(at_the_limit_of_all_sources_the_heaviest_one_loses_its_oldest_connection) {
    for (auto const* source : {"a", "b", "b", "b", "c", "c", "d", "e"}) accept(source);
    BOOST_TEST(closed.empty());
    now += 20ms;  // for which the listener may accept ten more
    accept("f");
    BOOST_TEST(closed == std::vector<Id>{2}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(strangers_are_closed_before_a_node_is) {
    for (auto const* node : {"n1", "n2", "n3"}) {
        accept(node, Origin::node);
        accept(node, Origin::node);
    }
    accept("a");
    accept("b");
    now += 20ms;
    accept("n4", Origin::node);
    accept("n5", Origin::node);
    BOOST_TEST(closed == (std::vector<Id>{7, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_node_keeps_its_connection_for_some_time_and_then_makes_room_for_another) {
    for (int i = 0; i < 4; ++i) accept("n1", Origin::node);
    BOOST_TEST(closed.empty());
    BOOST_TEST(accept("n1", Origin::node) == 0u);  // the listener waits
    BOOST_TEST((pending.next_change() == start + limits.node_protection));
    now = start + limits.node_protection - 1ms;
    close_excess();
    BOOST_TEST(closed.empty());
    now = start + limits.node_protection;
    close_excess();
    BOOST_TEST(closed == std::vector<Id>{1}, boost::test_tools::per_element());
    BOOST_TEST(accept("n2", Origin::node) != 0u);
}

BOOST_AUTO_TEST_CASE(a_connection_has_two_seconds_to_authenticate) {
    auto const id = accept("a");
    BOOST_TEST((pending.next_change() == start + 2s));
    BOOST_TEST(!pending.find_overdue(start + 2s - 1ns).has_value());
    BOOST_TEST((pending.find_overdue(start + 2s) == id));
    pending.restart_time(id, start + 1s);
    BOOST_TEST(!pending.find_overdue(start + 2s).has_value());
    pending.remove_authenticated(id);
    BOOST_TEST(!pending.find_overdue(start + 9s).has_value());
    BOOST_TEST((pending.next_change() == PendingConnections::TimePoint::max()));
}

BOOST_AUTO_TEST_CASE(a_flood_is_accepted_no_faster_than_500_connections_a_second) {
    int accepted = 0;
    for (; now < start + 2s; now += 1ms) {
        for (int i = 0; i < 100; ++i) accepted += accept("a") != 0 ? 1 : 0;
    }
    BOOST_TEST(accepted >= 900);
    BOOST_TEST(accepted <= 1000 + static_cast<int>(limits.connections));
}

BOOST_AUTO_TEST_CASE(connections_that_authenticate_are_not_limited) {
    for (int i = 0; i < 10'000; ++i) {
        auto const id = accept("n1", Origin::node);
        BOOST_REQUIRE(id != 0u);
        pending.remove_authenticated(id);
    }
    BOOST_TEST(closed.empty());
}

BOOST_AUTO_TEST_CASE(all_ranks_of_a_large_node_may_connect_at_once) {
    BOOST_TEST(PendingLimits::for_ranks(1).of_one_source == 32u);
    BOOST_TEST(PendingLimits::for_ranks(128).of_one_source == 128u);
    BOOST_TEST(PendingLimits::for_ranks(100'000).of_one_source == 256u);
    BOOST_TEST(PendingLimits::for_ranks(100'000).connections == 256u);
}

BOOST_AUTO_TEST_CASE(a_listener_without_resources_rests) {
    pending.rest(now);
    BOOST_TEST(accept("a") == 0u);
    BOOST_TEST((pending.next_change() == start + 10ms));
    now = start + 10ms;
    BOOST_TEST(accept("a") != 0u);
}

BOOST_AUTO_TEST_SUITE_END()
