#include <det/queue/priority_levels.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "queue_support.hpp"

using namespace det;
using namespace det::queue;

namespace moves_test {

Caller const me{.user = "me"};
Caller const operator_{.user = "root", .rights = Rights::operators};

std::string plan(QueueState const& queue, std::vector<Request> const& requests, Caller const& caller = me) {
    return text_of(must(plan_moves(queue, caller, requests)));
}

Error refusal(QueueState const& queue, std::vector<Request> const& requests, Caller const& caller = me) {
    return must_fail(plan_moves(queue, caller, requests));
}

slurm::JobStatus task(std::uint32_t array, std::uint32_t index, std::int64_t priority, std::int64_t nice) {
    auto job = waiting(array, priority, nice);
    job.ref.task = index;
    return job;
}

// As priority/basic computes priorities: the base of each job is one less than that of the job before, and
// the nice is subtracted.
QueueState const three{{waiting(1, 900, 100), waiting(2, 899, 100), waiting(3, 898, 100)}, {}};

}  // namespace moves_test

BOOST_AUTO_TEST_SUITE(moves_test)

BOOST_AUTO_TEST_CASE(a_job_moves_up_by_as_little_as_is_needed) {
    BOOST_TEST(plan(three, {ahead(3, 1)}) == "nice 3: 100 -> 97");
    BOOST_TEST(plan(three, {ahead(3, 2)}) == "nice 3: 100 -> 98");
    BOOST_TEST(plan(three, {behind(1, 3)}) == "nice 1: 100 -> 103");
    BOOST_TEST(plan(three, {ahead(1, 3)}) == "");
}

BOOST_AUTO_TEST_CASE(a_job_that_cannot_rise_lowers_the_others) {
    QueueState const queue{{waiting(1, 1000), waiting(2, 999), waiting(3, 998)}, {}};
    BOOST_TEST(plan(queue, {ahead(3, 2)}) == "nice 2: 0 -> 2");
    BOOST_TEST(plan(queue, {ahead(3, 1)}) == "nice 1: 0 -> 3, nice 2: 0 -> 2");
}

BOOST_AUTO_TEST_CASE(jobs_of_other_users_are_passed_as_far_as_the_nice_allows) {
    QueueState queue{{waiting(1, 950, 0, "you"), waiting(2, 900, 100)}, {}};
    BOOST_TEST(plan(queue, {ahead(2, 1)}) == "nice 2: 100 -> 49");
    queue.jobs[0].priority = 1000;
    auto const error = refusal(queue, {ahead(2, 1)});
    BOOST_TEST((error.code == codes::no_legal_move));
    BOOST_TEST(
        error.message ==
        "job 2 can't pass job 1 of you: it has priority 900 and reaches 1000 with nice 0, and job 1 has "
        "1000");
    BOOST_TEST(plan(queue, {behind(2, 1)}) == "");
    BOOST_TEST((refusal(queue, {behind(1, 2)}).code == codes::not_yours));
}

BOOST_AUTO_TEST_CASE(the_tasks_of_an_array_move_together) {
    QueueState queue{{waiting(1, 900, 100), task(2, 0, 899, 100), task(2, 1, 899, 100)}, {}};
    BOOST_TEST(plan(queue, {ahead(2, 1)}) == "nice 2: 100 -> 98");
    BOOST_TEST(order_of(after_moves(queue, must(plan_moves(queue, me, {ahead(2, 1)})))) == "2_0 2_1 1");
    // A task whose nice differs from its array's moves with the array.
    queue.jobs[2] = task(2, 1, 999, 0);
    BOOST_TEST(plan(queue, {ahead(2, 1)}) == "nice 2: 0 -> 0");
    BOOST_TEST(plan(queue, {behind(2, 1)}) == "nice 1: 100 -> 1");
    // A running task does not prevent the move of the others.
    queue.jobs[2] = running(2);
    queue.jobs[2].ref.task = 1;
    BOOST_TEST(plan(queue, {ahead(2, 1)}) == "nice 2: 100 -> 98");
    BOOST_TEST(plan(queue, {SetPartition{2, "cpu"}}) == "partition 2_0: cpu");
}

BOOST_AUTO_TEST_CASE(a_job_that_does_not_wait_is_refused_with_the_reason) {
    QueueState const queue{{running(1), waiting(2, 0), waiting(3, 5)}, {}};
    auto const held = refusal(queue, {ahead(2, 3)});
    BOOST_TEST((held.code == codes::job_not_waiting));
    BOOST_TEST(held.hint == "release it first: 'scontrol release 2'");
    BOOST_TEST(refusal(queue, {ahead(3, 1)}).message == "job 1 does not wait: it is RUNNING");
    BOOST_TEST((refusal(queue, {ahead(3, 9)}).code == codes::no_such_job));
    BOOST_TEST((refusal(queue, {SetLevel{1, 5}}).code == codes::job_not_waiting));
    BOOST_TEST((refusal(queue, {SetPartition{1, "cpu"}}).code == codes::job_not_waiting));
    BOOST_TEST((refusal(queue, {ahead(3, 3)}).code == codes::usage));
    // A held job has no position in the order, but may change its pool.
    BOOST_TEST(plan(queue, {SetPartition{2, "cpu"}}) == "partition 2: cpu");
}

BOOST_AUTO_TEST_CASE(a_partition_of_a_higher_tier_comes_first) {
    QueueState queue{{waiting(1, 900, 100), waiting(2, 5, 0)}, {}};
    queue.jobs[1].partition = "urgent";
    queue.tiers.set("urgent", 10);
    BOOST_TEST(order_of(queue) == "2 1");
    BOOST_TEST((refusal(queue, {ahead(1, 2)}).code == codes::no_legal_move));
    BOOST_TEST((refusal(queue, {behind(2, 1)}).code == codes::no_legal_move));
    BOOST_TEST(plan(queue, {ahead(2, 1)}) == "");
}

BOOST_AUTO_TEST_CASE(an_owners_priority_is_a_nice_between_that_of_level_42_and_99) {
    BOOST_TEST(nice_of_level(1) == 0);
    BOOST_TEST(nice_of_level(42) == 0);
    BOOST_TEST(nice_of_level(43) == 2);
    BOOST_TEST(nice_of_level(99) == 139);
    BOOST_TEST(plan(three, {SetLevel{3, 1}}) == "nice 3: 100 -> 0");
    BOOST_TEST(plan(three, {SetLevel{3, 42}}) == "nice 3: 100 -> 0");
    BOOST_TEST(plan(three, {SetLevel{3, 83}}) == "");
    BOOST_TEST((refusal(three, {SetLevel{3, 0}}).code == codes::usage));
    BOOST_TEST((refusal(three, {SetLevel{3, 100}}).code == codes::usage));
    QueueState const queue{{waiting(1, 900, 0, "you")}, {}};
    BOOST_TEST((refusal(queue, {SetLevel{1, 5}}).code == codes::not_yours));
}

BOOST_AUTO_TEST_CASE(an_operator_sets_priorities_and_moves_all_jobs) {
    QueueState const queue{{waiting(1, 900, 0, "you"), waiting(2, 899, 0, "me"), waiting(3, 898, 0, "me")},
                           {}};
    BOOST_TEST(plan(queue, {SetLevel{2, 1}}, operator_) == "priority 2: 4294901801");
    BOOST_TEST(plan(queue, {SetLevel{2, 99}}, operator_) == "priority 2: 1");
    BOOST_TEST(plan(queue, {SetLevel{2, 42}}, operator_) == "compute 2");
    BOOST_TEST(plan(queue, {ahead(3, 1)}, operator_) == "nice 3: 0 -> -3");
    BOOST_TEST(plan(queue, {behind(1, 3)}, operator_) == "nice 1: 0 -> 3");
    BOOST_TEST(unfulfilled(queue, {SetLevel{2, 42}}, operator_).empty());
    BOOST_TEST(!unfulfilled(queue, {SetLevel{2, 1}}, operator_).empty());
}

BOOST_AUTO_TEST_CASE(scontrol_top_is_used_where_nice_is_not_enough_and_the_site_allows_it) {
    Caller const with_top{.user = "me", .may_move_to_top = true};
    QueueState const queue{{waiting(1, 1000), waiting(2, 999, 0, "you"), waiting(3, 998)}, {}};
    BOOST_TEST((refusal(queue, {ahead(3, 2)}).code == codes::no_legal_move));
    // Job 3 is wanted before job 2 and behind job 1; `scontrol top` would put it before both.
    BOOST_TEST((refusal(queue, {ahead(3, 2)}, with_top).code == codes::no_legal_move));
    QueueState const more{{waiting(1, 1000), waiting(2, 999), waiting(3, 998)}, {}};
    BOOST_TEST(plan(more, {ahead(3, 1)}) == "nice 1: 0 -> 3, nice 2: 0 -> 2");
    BOOST_TEST(plan(more, {ahead(3, 1)}, with_top) == "top 3");
    BOOST_TEST(plan(more, {ahead(2, 1)}, with_top) == "nice 1: 0 -> 2");
    BOOST_TEST(order_of(after_moves(more, {MoveToTop{3}})) == "3 1 2");
    auto other_account = more;
    other_account.jobs[2].account = "project";
    BOOST_TEST(plan(other_account, {ahead(3, 1)}, with_top) == "nice 1: 0 -> 3, nice 2: 0 -> 2");
}

BOOST_AUTO_TEST_CASE(a_batch_is_fulfilled_as_a_whole) {
    BOOST_TEST(plan(three, {ahead(3, 1), ahead(2, 1)}) == "nice 3: 100 -> 96, nice 2: 100 -> 98");
    BOOST_TEST(plan(three, {SetLevel{1, 99}, ahead(3, 2)}) == "nice 1: 100 -> 139, nice 3: 100 -> 98");
    BOOST_TEST((refusal(three, {ahead(3, 1), ahead(1, 3)}).code == codes::usage));
    BOOST_TEST((refusal(three, {ahead(3, 1), SetLevel{3, 1}}).code == codes::usage));
}

BOOST_AUTO_TEST_CASE(a_priority_replaces_the_place_that_an_earlier_request_gave) {
    QueueState const submitted{{waiting(1, 1000), waiting(2, 999), waiting(3, 998)}, {}};
    auto const queue = after_moves(submitted, must(plan_moves(submitted, me, {ahead(3, 1)})));
    BOOST_TEST(order_of(queue) == "3 1 2");
    std::vector<Request> const levels{SetLevel{1, 1}, SetLevel{3, 1}};
    auto const moves = must(plan_moves(queue, me, levels));
    BOOST_TEST(text_of(moves) == "nice 1: 3 -> 0");
    BOOST_TEST(order_of(after_moves(queue, moves)) == "1 3 2");
    auto const changes = find_reversed_pairs(queue, levels, moves);
    BOOST_REQUIRE(changes.size() == 1u);
    BOOST_TEST(changes[0].ahead == 1u);
    BOOST_TEST(changes[0].behind == 3u);
    // Requests with different priorities, or for jobs that keep their positions.
    std::vector<Request> const others{SetLevel{1, 1}, SetLevel{3, 60}};
    BOOST_TEST(find_reversed_pairs(queue, others, must(plan_moves(queue, me, others))).empty());
    BOOST_TEST(find_reversed_pairs(submitted, levels, must(plan_moves(submitted, me, levels))).empty());
    // A request for a priority and one for a position in one batch.
    BOOST_TEST(plan(submitted, {SetLevel{1, 60}, ahead(3, 1)}) == "nice 1: 0 -> 43");
    BOOST_TEST(plan(submitted, {SetLevel{1, 42}, ahead(3, 1)}) == "nice 1: 0 -> 3, nice 2: 0 -> 2");
}

BOOST_AUTO_TEST_CASE(unfulfilled_requests_are_found_in_the_new_queue) {
    BOOST_TEST(unfulfilled(three, {ahead(3, 1), ahead(1, 3)}, me).size() == 1u);
    // A request for a job that runs now is fulfilled.
    QueueState const later{{running(3), waiting(1, 900, 100)}, {}};
    BOOST_TEST(unfulfilled(later, {ahead(3, 1)}, me).empty());
}

BOOST_AUTO_TEST_SUITE_END()
