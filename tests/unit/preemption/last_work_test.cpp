#include <det/preemption/last_work.hpp>

#include <boost/test/unit_test.hpp>

using namespace det::preemption;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(last_work_test)

BOOST_AUTO_TEST_CASE(work_is_saved_while_half_as_much_time_again_as_it_takes_is_left) {
    BOOST_TEST((choose_last_work(15s, 10s) == LastWork::save_anew));
    BOOST_TEST((choose_last_work(14'999ms, 10s) == LastWork::keep_last_saved));
    BOOST_TEST((choose_last_work(-1s, 1ms) == LastWork::keep_last_saved));
}

BOOST_AUTO_TEST_CASE(what_is_not_known_stops_nobody_from_saving) {
    BOOST_TEST((choose_last_work(std::nullopt, 10s) == LastWork::save_anew));
    BOOST_TEST((choose_last_work(1s, std::nullopt) == LastWork::save_anew));
}

BOOST_AUTO_TEST_SUITE_END()
