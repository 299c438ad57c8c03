#include <det/protocol/grace_period.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(grace_period_test)

BOOST_AUTO_TEST_CASE(the_margin_of_a_grace_period_leaves_the_program_half_of_it) {
    BOOST_TEST((grace_margin(0s) == 0s));
    BOOST_TEST((grace_margin(4s) == 2s));
    BOOST_TEST((grace_margin(6s) == 3s));
    BOOST_TEST((grace_margin(30s) == 3s));
    BOOST_TEST((grace_margin(60s) == 6s));
    BOOST_TEST((grace_margin(150s) == 15s));
    BOOST_TEST((grace_margin(1000s) == 15s));
}

BOOST_AUTO_TEST_SUITE_END()
