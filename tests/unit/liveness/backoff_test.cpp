#include <det/liveness/backoff.hpp>

#include <boost/test/unit_test.hpp>
#include <ctime>

using namespace det::liveness;

BOOST_AUTO_TEST_SUITE(backoff_test)

BOOST_AUTO_TEST_CASE(one_rank_has_a_core_of_its_own_and_a_million_ranks_have_not) {
    BOOST_TEST((cores_for(1) == Cores::own));
    BOOST_TEST((cores_for(1'000'000) == Cores::shared));
}

BOOST_AUTO_TEST_CASE(a_long_wait_leaves_the_core_to_others) {
    using clock = std::chrono::steady_clock;
    using namespace std::chrono_literals;
    Backoff backoff(Cores::own);
    auto const begin = clock::now();
    auto const begin_cpu = std::clock();
    while (clock::now() - begin < 300ms) backoff.pause();
    auto const used_seconds = static_cast<double>(std::clock() - begin_cpu) / CLOCKS_PER_SEC;
    BOOST_TEST(used_seconds < 0.15);
}

BOOST_AUTO_TEST_SUITE_END()
