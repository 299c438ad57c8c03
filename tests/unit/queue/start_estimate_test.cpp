#include <det/queue/start_estimate.hpp>

#include <boost/test/unit_test.hpp>

#include "queue_support.hpp"

using namespace det;
using namespace det::queue;

namespace start_estimate_test {

constexpr std::int64_t day_us = std::int64_t{24} * 3600 * 1'000'000;
constexpr UtcTime now{1'795'262'400'000'000};

UtcTime in_days(std::int64_t days) { return {now.microseconds + days * day_us}; }

slurm::JobStatus started(std::int64_t days_ago, std::optional<UtcTime> end) {
    auto job = running(4);
    job.start_time = in_days(-days_ago);
    job.end_time = end;
    return job;
}

bool is_unknown(std::vector<slurm::JobStatus> const& jobs, std::int64_t estimate_days) {
    auto const start = StartEstimates(jobs, now).evaluate(in_days(estimate_days));
    BOOST_TEST(start.time.has_value() == start.unknown_because.empty());
    if (start.time) BOOST_TEST(start.time->microseconds == in_days(estimate_days).microseconds);
    return !start.time;
}

}  // namespace start_estimate_test

using namespace start_estimate_test;

BOOST_AUTO_TEST_SUITE(start_estimate_test)

BOOST_AUTO_TEST_CASE(a_start_after_the_end_of_jobs_without_a_time_limit_is_unknown) {
    // Slurm assumes that a job without a time limit ends a year after its start.
    std::vector const queue{started(100, std::nullopt), started(300, in_days(2)), started(10, std::nullopt)};
    BOOST_TEST(!is_unknown(queue, 263));
    BOOST_TEST(is_unknown(queue, 265));
    BOOST_TEST(StartEstimates(queue, now).evaluate(in_days(265)).unknown_because ==
               "jobs before it have no time limit");
}

BOOST_AUTO_TEST_CASE(a_start_within_the_limits_of_the_running_jobs_is_known) {
    std::vector const queue{started(300, in_days(200)), waiting(5, 10)};
    BOOST_TEST(!is_unknown(queue, 200));
    // Waiting jobs, and those that Slurm hides from other users, may have no time limit.
    BOOST_TEST(is_unknown(queue, 365));
    BOOST_TEST(is_unknown({}, 365));
}

BOOST_AUTO_TEST_CASE(a_job_for_which_slurm_gives_no_estimate_has_no_reason) {
    auto const start = StartEstimates({started(1, std::nullopt)}, now).evaluate(std::nullopt);
    BOOST_TEST(!start.time.has_value());
    BOOST_TEST(start.unknown_because == "");
}

BOOST_AUTO_TEST_SUITE_END()
