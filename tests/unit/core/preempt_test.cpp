#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "core_support.hpp"
#include "file_size_limit.hpp"

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

// The supervisor counts a run that ends with 0 and without this record as finished.
BOOST_AUTO_TEST_CASE(an_acknowledgement_that_the_full_disk_refuses_is_an_error_until_it_is_recorded) {
    std::uintmax_t before = 0, after = 0;
    {
        auto context = init();
        BOOST_TEST(!must(context.preempt().should_preempt()));
        before = std::filesystem::file_size(run.chief_journal());
        raise_notice();
        BOOST_TEST(must(context.preempt().should_preempt()));
        after = std::filesystem::file_size(run.chief_journal());
    }
    // With the same journal, one byte more than fits and as many as fit.
    for (auto const size : {after - 1, after}) {
        must(remove_tree(run.chief_journal()));
        must(preemption::NoticePage::create(run_dir / preemption::notice_file));
        auto context = init();
        BOOST_TEST(!must(context.preempt().should_preempt()));
        BOOST_REQUIRE(std::filesystem::file_size(run.chief_journal()) == before);
        raise_notice();
        {
            FileSizeLimit const limit(size);
            for (int call = 0; call < 2; ++call) {  // the second call must fail too, not return true
                auto const answer = context.preempt().should_preempt();
                BOOST_TEST(answer.has_value() == (size == after));
            }
        }
        BOOST_TEST(records().size() == (size == after ? 1u : 0u));  // and no part of one
        BOOST_TEST(must(context.preempt().should_preempt()));
        BOOST_REQUIRE(records().size() == 1u);
        BOOST_TEST(std::holds_alternative<PreemptionAcknowledged>(records()[0]));
    }
}

BOOST_AUTO_TEST_CASE(a_program_that_ignores_a_failed_acknowledgement_learns_it_when_it_closes_the_context) {
    for (bool const is_full_at_the_end : {true, false}) {
        std::error_code ignored;
        std::filesystem::remove(run.chief_journal(), ignored);
        must(preemption::NoticePage::create(run_dir / preemption::notice_file));
        auto context = init();
        BOOST_TEST(!must(context.preempt().should_preempt()));
        raise_notice();
        std::optional<FileSizeLimit> limit(std::in_place, std::filesystem::file_size(run.chief_journal()));
        BOOST_TEST(!context.preempt().should_preempt().has_value());
        if (!is_full_at_the_end) limit.reset();
        BOOST_TEST(context.close().has_value() == !is_full_at_the_end);
        limit.reset();
        BOOST_TEST(records().size() == (is_full_at_the_end ? 0u : 1u));
    }
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
