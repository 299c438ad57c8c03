#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "core_support.hpp"

using namespace det;
using namespace det::core;

BOOST_FIXTURE_TEST_SUITE(preempt_test, RunFixture)

BOOST_AUTO_TEST_CASE(without_a_notice_the_answer_is_no_and_nothing_is_written) {
    auto context = init();
    for (int step = 0; step < 3; ++step) BOOST_TEST(!must(context.preempt().should_preempt()));
    BOOST_TEST(records().empty());
}

BOOST_AUTO_TEST_CASE(a_notice_is_acknowledged_once_and_stays) {
    auto context = init();
    BOOST_TEST(!must(context.preempt().should_preempt()));
    clock.sleep_for(std::chrono::seconds(5));
    raise_notice();
    BOOST_TEST(records().empty());  // should_preempt() has not been called yet
    for (int step = 0; step < 3; ++step) BOOST_TEST(must(context.preempt().should_preempt()));
    BOOST_REQUIRE(records().size() == 1u);
    BOOST_TEST((std::get<PreemptionAcknowledged>(records()[0]).time == clock.now()));
}

BOOST_AUTO_TEST_CASE(a_notice_from_before_the_start_counts) {
    raise_notice();
    BOOST_TEST(must(init().preempt().should_preempt()));
}

BOOST_AUTO_TEST_CASE(an_acknowledgement_can_be_given_later) {
    auto context = init();
    raise_notice();
    BOOST_TEST(must(context.preempt().should_preempt(Preempt::Acknowledge::later)));
    BOOST_TEST(records().empty());
    must(context.preempt().acknowledge());
    must(context.preempt().acknowledge());
    BOOST_TEST(records().size() == 1u);
}

BOOST_AUTO_TEST_CASE(after_the_acknowledgement_a_checkpoint_can_still_be_saved) {
    auto context = init();
    raise_notice();
    BOOST_TEST(must(context.preempt().should_preempt()));
    must(context.checkpoint().store(10, Json::object(), [](auto const&) { return Ok{}; }));
    must(context.close());
    BOOST_REQUIRE(records().size() == 2u);
    BOOST_TEST(std::holds_alternative<CheckpointCommitted>(records()[1]));
}

BOOST_AUTO_TEST_SUITE_END()
