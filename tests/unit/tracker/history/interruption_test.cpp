#include <det/tracker/history/experiment_view.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::tracker::history;

namespace interruption_test {

constexpr UtcTime at(std::int64_t second) { return {second * 1'000'000}; }

lifecycle::RunView run_of(std::int64_t start, std::int64_t end, Cause cause) {
    lifecycle::RunView run;
    run.started.emplace().time = at(start);
    run.ended.emplace().time = at(end);
    run.ended->cause = cause;
    return run;
}

CheckpointCommitted saved(std::int64_t second) { return {at(second), "uuid", 1, {}, {}}; }

}  // namespace interruption_test

BOOST_AUTO_TEST_SUITE(interruption_test)

BOOST_AUTO_TEST_CASE(each_time_stamp_from_notice_to_training_is_listed) {
    std::vector runs{run_of(10, 40, Cause::preempted), run_of(50, 60, Cause::finished)};
    runs[0].queued_again = at(41);
    std::vector<RunReports> reports(2);
    reports[0].acknowledged = PreemptionAcknowledged{at(31), at(30)};
    reports[0].checkpoints = {saved(20), saved(35)};
    reports[1].first_step = at(55);
    auto const found = interruptions_of(runs, reports);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].run == 0u);
    std::vector<std::int64_t> seconds;
    for (auto const& time : {found[0].noticed, found[0].acknowledged, found[0].saved, found[0].ended,
                             found[0].queued, found[0].started, found[0].trained})
        seconds.push_back(time.value_or(UtcTime{}).microseconds / 1'000'000);
    BOOST_TEST(seconds == (std::vector<std::int64_t>{30, 31, 35, 40, 41, 50, 55}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(unknown_time_stamps_are_empty) {
    std::vector<RunReports> reports(2);
    reports[0].checkpoints = {saved(20)};
    auto const silent =
        interruptions_of({run_of(10, 40, Cause::paused), run_of(50, 60, Cause::failed)}, reports);
    BOOST_REQUIRE(silent.size() == 1u);
    BOOST_TEST(!silent[0].noticed.has_value());
    BOOST_TEST(!silent[0].saved.has_value());
    BOOST_TEST(silent[0].started.has_value());
    BOOST_TEST(!silent[0].trained.has_value());

    // Saved, but before the notice; and no later run exists yet.
    reports[0].acknowledged = PreemptionAcknowledged{at(31)};
    auto const waiting = interruptions_of({run_of(10, 40, Cause::time_limit)}, {reports[0]});
    BOOST_REQUIRE(waiting.size() == 1u);
    BOOST_TEST(!waiting[0].saved.has_value());
    BOOST_TEST(!waiting[0].started.has_value());
}

BOOST_AUTO_TEST_CASE(failed_and_finished_runs_are_no_interruptions) {
    BOOST_TEST(!is_interrupted(run_of(1, 2, Cause::failed)));
    BOOST_TEST(!is_interrupted(run_of(1, 2, Cause::canceled)));
    BOOST_TEST(!is_interrupted(lifecycle::RunView{}));
}

BOOST_AUTO_TEST_SUITE_END()
