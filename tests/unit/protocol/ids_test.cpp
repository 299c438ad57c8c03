#include <det/protocol/ids.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;

BOOST_AUTO_TEST_SUITE(ids_test)

BOOST_AUTO_TEST_CASE(a_trial_is_written_with_a_dot_or_as_one_integer) {
    TrialId const trial{{7}, 3};
    BOOST_TEST(to_string(trial) == "7.3");
    BOOST_TEST(to_integer(trial) == 7'000'003);
    BOOST_TEST((parse_trial_id("7.3") == trial));
    BOOST_TEST((parse_trial_id("7000003") == trial));
    BOOST_TEST(to_string(RunId{trial, 2}) == "7.3.2");
}

BOOST_AUTO_TEST_CASE(text_that_is_no_id_is_refused) {
    for (auto const* text :
         {"", "7", "7.", ".3", "7.3.2", "0.1", "7.1000000", "-7.3", "7.x", "99999999999999999999"}) {
        BOOST_TEST(!parse_trial_id(text).has_value(), text);
    }
    for (auto const* text : {"", "0", "-1", "x", "1.0", "4294967296"}) {
        BOOST_TEST(!parse_experiment_id(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
