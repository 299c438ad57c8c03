#include <det/telemetry/waits/wait_reports.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::telemetry;
using liveness::RankWaits;
using liveness::WaitOperation;
using namespace std::chrono_literals;

namespace wait_reports_test {

constexpr std::uint64_t ms = 1'000'000;

RankWaits waits_of(int rank, std::uint64_t operations, std::uint64_t allreduce_ms,
                   std::vector<RankWaits::ForRank> waited_for = {}) {
    RankWaits waits{rank, operations, 0, {}, std::move(waited_for)};
    waits.waited_ns[static_cast<std::size_t>(WaitOperation::allreduce)] = allreduce_ms * ms;
    return waits;
}

void check(WaitReport const& report, std::vector<std::string> const& names,
           std::vector<double> const& values) {
    BOOST_TEST(report.names == names, boost::test_tools::per_element());
    BOOST_TEST(report.values == values, boost::test_tools::per_element());
}

}  // namespace wait_reports_test

BOOST_AUTO_TEST_SUITE(wait_reports_test)

BOOST_AUTO_TEST_CASE(a_rank_that_joins_is_reported_although_it_has_not_waited) {
    WaitReporter reporter;
    auto const reports = reporter.take({waits_of(4, 0, 0)}, 24h);
    BOOST_REQUIRE(reports.size() == 1u);
    check(reports[0], {"operations 4"}, {0});
    BOOST_TEST(reporter.take({waits_of(4, 10, 0)}, 1ms).empty());
}

BOOST_AUTO_TEST_CASE(reports_hold_what_was_added_since_the_last_one) {
    WaitReporter reporter;
    reporter.take({waits_of(4, 5, 1000, {{6, 1000 * ms}})}, 0ms);
    auto const reports = reporter.take({waits_of(4, 8, 3500, {{6, 2000 * ms}, {7, 1500 * ms}})}, 100ms);
    BOOST_REQUIRE(reports.size() == 1u);
    check(reports[0], {"operations 4", "waited.allreduce 4", "waited_for.6 4", "waited_for.7 4"},
          {3, 2.5, 1, 1.5});
}

BOOST_AUTO_TEST_CASE(a_wait_below_the_limit_is_added_to_a_later_report) {
    WaitReporter reporter;
    reporter.take({waits_of(0, 0, 0)}, 0ms);
    BOOST_TEST(reporter.take({waits_of(0, 1, 99, {{1, 99 * ms}})}, 100ms).empty());
    auto const reports = reporter.take({waits_of(0, 2, 100, {{1, 100 * ms}})}, 100ms);
    BOOST_REQUIRE(reports.size() == 1u);
    check(reports[0], {"operations 0", "waited.allreduce 0", "waited_for.1 0"}, {2, 0.1, 0.1});
}

BOOST_AUTO_TEST_CASE(an_entry_that_another_rank_had_in_between_counts_from_zero) {
    WaitReporter reporter;
    reporter.take({waits_of(0, 0, 1000, {{1, 900 * ms}})}, 0ms);
    auto const reports = reporter.take({waits_of(0, 0, 2000, {{1, 300 * ms}})}, 0ms);
    BOOST_REQUIRE(reports.size() == 1u);
    check(reports[0], {"operations 0", "waited.allreduce 0", "waited_for.1 0"}, {0, 1, 0.3});
}

BOOST_AUTO_TEST_CASE(operations_that_begin_and_waits_that_end_are_activity_and_a_longer_wait_is_not) {
    auto const before = waits_of(0, 5, 1000);
    auto const waiting = waits_of(0, 5, 9000);
    auto const begun = waits_of(0, 6, 1000);
    auto ended = before;
    ended.waits_ended = 1;
    BOOST_TEST(activity_of({before, waiting}) == activity_of({before, before}));
    BOOST_TEST(activity_of({before, begun}) == activity_of({before, before}) + 1);
    BOOST_TEST(activity_of({before, ended}) == activity_of({before, before}) + 1);
}

BOOST_AUTO_TEST_SUITE_END()
