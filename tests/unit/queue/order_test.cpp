#include <det/queue/explain_reason.hpp>
#include <det/queue/find_job.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "queue_support.hpp"

using namespace det;
using namespace det::queue;

BOOST_AUTO_TEST_SUITE(order_test)

BOOST_AUTO_TEST_CASE(jobs_are_ordered_by_tier_then_priority_then_number) {
    QueueState queue{
        {waiting(7, 0), waiting(6, 50), waiting(5, 50), waiting(9, 60), waiting(8, 10), running(4)}, {}};
    queue.jobs[4].partition = "compute,urgent";
    queue.tiers.set("urgent", 10);
    BOOST_TEST(order_of(queue) == "4 8 9 5 6 7");
}

BOOST_AUTO_TEST_CASE(known_reasons_are_explained_and_unknown_ones_unchanged) {
    BOOST_TEST(explain_reason("Resources") == "next in turn, waits for nodes to become free");
    BOOST_TEST(explain_reason("None") == "");
    BOOST_TEST(explain_reason("Nodes required for job are DOWN") == "Nodes required for job are DOWN");
}

BOOST_AUTO_TEST_CASE(a_job_is_named_as_job_list_shows_it_or_by_its_experiment) {
    ExperimentJobOwner const owner{"me", "abc"};
    auto mine = waiting(71, 5);
    mine.comment = "det:abc/7";
    auto forged = waiting(72, 5, 0, "you");
    forged.comment = "det:abc/8";
    auto elsewhere = waiting(73, 5);
    elsewhere.comment = "det:zzz/9";
    std::vector const jobs{mine, forged, elsewhere, waiting(12, 5)};
    auto const find = [&](std::string_view text) { return must(find_job_id(jobs, text, owner)).value_or(0); };
    BOOST_TEST(find("71") == 71u);
    BOOST_TEST(find("71_3") == 71u);
    BOOST_TEST(find("7") == 71u);
    BOOST_TEST(find("exp-7") == 71u);
    BOOST_TEST(find("12") == 12u);
    BOOST_TEST(find("job-12") == 12u);
    for (auto const* absent : {"8", "9", "exp-8", "job-7", "7_0", "99"})
        BOOST_TEST(find(absent) == 0u, absent);
    for (auto const* wrong : {"", "x", "-1", "7.0", "exp-", "exp-7_0", "0", "7 ", "12_[3-5],71_3", "71,12"})
        BOOST_TEST((must_fail(find_job_id(jobs, wrong, owner)).code == codes::usage), wrong);
}

BOOST_AUTO_TEST_CASE(a_number_of_an_experiment_and_a_job_is_ambiguous) {
    ExperimentJobOwner const owner{"me", "abc"};
    auto mine = waiting(71, 5);
    mine.comment = "det:abc/12";
    std::vector const jobs{mine, waiting(12, 5)};
    auto const error = must_fail(find_job_id(jobs, "12", owner));
    BOOST_TEST((error.code == codes::usage));
    BOOST_TEST(error.hint == "write exp-12 or job-12");
    BOOST_TEST(must(find_job_id(jobs, "exp-12", owner)).value() == 71u);
    BOOST_TEST(must(find_job_id(jobs, "job-12", owner)).value() == 12u);
}

BOOST_AUTO_TEST_SUITE_END()
