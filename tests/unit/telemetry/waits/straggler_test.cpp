#include <det/telemetry/waits/straggler.hpp>

#include <boost/test/unit_test.hpp>

using namespace det::telemetry;
using namespace std::chrono_literals;

namespace straggler_test {

constexpr auto period = 60s;

struct Wait {
    int rank;
    int awaited;
    double seconds;
    std::string operation = "allreduce";
};

/// The waits of a run with four ranks on each node.
RunWaits waits_of(std::vector<Wait> const& waits, int ranks = 8) {
    RunWaits run;
    for (int rank = 0; rank < ranks; ++rank) run[rank].node = rank / 4;
    for (auto const& wait : waits) {
        run[wait.rank].seconds_for[wait.awaited] += wait.seconds;
        run[wait.rank].seconds_in[wait.operation] += wait.seconds;
    }
    return run;
}

}  // namespace straggler_test

BOOST_AUTO_TEST_SUITE(straggler_test)

BOOST_AUTO_TEST_CASE(the_rank_that_all_others_await_is_named_with_its_node_and_the_longest_wait) {
    auto const found = find_straggler(waits_of({{0, 5, 24.6}, {1, 5, 24}, {2, 5, 20}, {4, 5, 12}}), period);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->rank == 5);
    BOOST_TEST(found->node == 1);
    BOOST_TEST(found->waiting_ranks == (std::vector{0, 1, 2, 4}), boost::test_tools::per_element());
    BOOST_TEST(found->operation == "allreduce");
    BOOST_TEST(found->seconds == 24.6);
    BOOST_TEST(found->share == 0.41, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(without_waits_there_is_no_straggler) {
    BOOST_TEST(!find_straggler({}, period).has_value());
    BOOST_TEST(!find_straggler(waits_of({}), period).has_value());
}

BOOST_AUTO_TEST_CASE(waits_of_a_twentieth_of_the_period_count_and_shorter_ones_do_not) {
    BOOST_TEST(find_straggler(waits_of({{0, 1, 3}}), period).has_value());
    BOOST_TEST(!find_straggler(waits_of({{0, 1, 2.999}}), period).has_value());
}

BOOST_AUTO_TEST_CASE(a_rank_that_itself_waits_most_of_the_time_is_no_straggler) {
    // Ranks 1 to 3 get the result from rank 0, which waits for the leader of the other node, which waits for
    // the late rank.
    auto const found = find_straggler(
        waits_of({{1, 0, 30}, {2, 0, 30}, {3, 0, 30}, {0, 4, 29}, {4, 5, 28}, {6, 5, 30}}), period);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->rank == 5);
    BOOST_TEST(found->waiting_ranks.size() == 6u);
}

BOOST_AUTO_TEST_CASE(a_rank_that_waited_half_as_long_passes_the_wait_on_and_one_that_waited_less_does_not) {
    BOOST_TEST(find_straggler(waits_of({{1, 0, 30}, {0, 4, 15}}), period)->rank == 4);
    BOOST_TEST(find_straggler(waits_of({{1, 0, 30}, {0, 4, 14.9}}), period)->rank == 0);
}

BOOST_AUTO_TEST_CASE(of_several_late_ranks_the_one_counts_that_costs_the_others_the_most) {
    auto const found = find_straggler(waits_of({{0, 1, 20}, {2, 1, 20}, {3, 6, 35}, {4, 1, 4}}), period);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->rank == 1);
    BOOST_TEST(find_straggler(waits_of({{0, 1, 20}, {2, 3, 20}}), period)->rank ==
               1);  // the lowest of equals
}

BOOST_AUTO_TEST_CASE(ranks_that_wait_for_each_other_name_none) {
    BOOST_TEST(!find_straggler(waits_of({{0, 1, 30}, {1, 0, 30}}), period).has_value());
    BOOST_TEST(!find_straggler(waits_of({{0, 1, 30}, {1, 2, 30}, {2, 0, 30}}), period).has_value());
    BOOST_TEST(!find_straggler(waits_of({{0, 0, 30}}), period).has_value());
}

BOOST_AUTO_TEST_CASE(a_rank_without_reports_is_named_without_a_node) {
    auto const found = find_straggler(waits_of({{0, 9, 30}}), period);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->rank == 9);
    BOOST_TEST(found->node == -1);
    BOOST_TEST(describe_straggler(*found, {"n1", "n2"}) == "rank 0 waits for rank 9 in allreduce");
}

BOOST_AUTO_TEST_CASE(the_share_is_at_most_the_whole_period) {
    BOOST_TEST(find_straggler(waits_of({{0, 1, 69}}), period)->share == 1.0);
}

BOOST_AUTO_TEST_CASE(stragglers_are_described_with_the_operation_in_which_they_cost_the_most) {
    auto const waits = waits_of(
        {{0, 5, 10, "barrier"}, {0, 5, 20, "allgather"}, {1, 5, 10, "barrier"}, {3, 5, 30, "barrier"}});
    BOOST_TEST(describe_straggler(*find_straggler(waits, period), {"n1", "n2"}) ==
               "ranks 0,1,3 wait for rank 5 on node n2 in barrier");
    BOOST_TEST(describe_straggler(*find_straggler(waits, period), {"n1"}) ==
               "ranks 0,1,3 wait for rank 5 in barrier");
}

BOOST_AUTO_TEST_CASE(all_waits_are_listed_the_longest_first) {
    auto const lines = describe_waits(
        waits_of({{0, 4, 29}, {1, 0, 30.04}, {2, 0, 12}, {3, 0, 30}, {4, 5, 28, "barrier"}, {4, 6, 1}}));
    std::vector<std::string> const expected = {"ranks 1-3 wait for rank 0 in allreduce (30.0 s)",
                                               "rank 0 waits for rank 4 in allreduce (29.0 s)",
                                               "rank 4 waits for rank 5 in barrier (28.0 s)"};
    BOOST_TEST(lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ranks_are_listed_as_ranges) {
    BOOST_TEST(describe_ranks({3}) == "rank 3");
    BOOST_TEST(describe_ranks({3, 4}) == "ranks 3,4");
    BOOST_TEST(describe_ranks({0, 1, 2, 5, 7, 8}) == "ranks 0-2,5,7,8");
    BOOST_TEST(describe_ranks({0, 2, 4, 6, 8, 10, 12, 14}) == "ranks 0,2,4,6,8,10,12,14");
    BOOST_TEST(describe_ranks({0, 2, 4, 6, 8, 10, 12, 14, 16, 17}) == "ranks 0,2,4,6,8,10,12,14 and 2 more");
}

BOOST_AUTO_TEST_SUITE_END()
