#include <det/collectives/distributed_context.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "thread_transport.hpp"

using namespace det;
using namespace det::collectives;

BOOST_AUTO_TEST_SUITE(topology_test)

BOOST_AUTO_TEST_CASE(numbers_that_contradict_each_other_are_refused) {
    constexpr Topology impossible[] = {{-1, 1, 0, 1}, {1, 1, 0, 1}, {0, 5, 0, 1}, {0, 1, 2, 2}, {0, 1, 0, 5}};
    for (auto const& topology : impossible) {
        auto group = transport::make_thread_transports(4);
        BOOST_TEST(!DistributedContext::make(std::move(group[0]), topology).has_value());
    }
}

BOOST_AUTO_TEST_CASE(nodes_may_hold_different_numbers_of_ranks) {
    auto group = transport::make_thread_transports(3);
    auto const context = must(DistributedContext::make(std::move(group[2]), {0, 1, 1, 2}));
    BOOST_TEST(context.rank().value == 2);
    BOOST_TEST(context.local_rank() == 0);
    BOOST_TEST(context.cross_rank() == 1);
    BOOST_TEST(!context.is_chief());
}

BOOST_AUTO_TEST_SUITE_END()
