#include <det/preemption/final_save.hpp>

#include <boost/test/unit_test.hpp>

using namespace det::preemption;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(final_save_test)

BOOST_AUTO_TEST_CASE(a_checkpoint_is_saved_if_one_and_a_half_times_its_cost_is_left) {
    BOOST_TEST((choose_final_save(15s, 10s) == FinalSave::save_new));
    BOOST_TEST((choose_final_save(14'999ms, 10s) == FinalSave::keep_last_saved));
    BOOST_TEST((choose_final_save(-1s, 1ms) == FinalSave::keep_last_saved));
}

BOOST_AUTO_TEST_CASE(an_unknown_time_does_not_prevent_saving) {
    BOOST_TEST((choose_final_save(std::nullopt, 10s) == FinalSave::save_new));
    BOOST_TEST((choose_final_save(1s, std::nullopt) == FinalSave::save_new));
}

BOOST_AUTO_TEST_SUITE_END()
