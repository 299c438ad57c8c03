#include <det/tracker/ingest/poll_schedule.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::tracker::ingest;
using std::chrono::seconds;

namespace poll_schedule_test {

struct Fixture {
    PollSchedule schedule;
    TimePoint start{};

    bool is_due(std::uint32_t id, seconds when) {
        auto const due = schedule.take_due(start + when);
        return std::ranges::count(due, ExperimentId{id}) > 0;
    }
};

}  // namespace poll_schedule_test

BOOST_FIXTURE_TEST_SUITE(poll_schedule_test, Fixture)

BOOST_AUTO_TEST_CASE(a_new_experiment_is_due_at_once) {
    schedule.add({1}, false, start);
    BOOST_TEST(is_due(1, seconds(0)));
}

BOOST_AUTO_TEST_CASE(an_experiment_that_changes_is_due_a_second_later) {
    schedule.add({1}, false, start);
    schedule.mark_polled({1}, true, false, start);
    BOOST_TEST(!schedule.take_due(start + std::chrono::milliseconds(999)).size());
    BOOST_TEST(is_due(1, seconds(1)));
}

BOOST_AUTO_TEST_CASE(the_interval_doubles_up_to_a_minute_while_nothing_changes) {
    schedule.add({1}, false, start);
    seconds time(0);
    for (int const interval : {2, 4, 8, 16, 32, 60, 60}) {
        schedule.mark_polled({1}, false, false, start + time);
        BOOST_TEST(!is_due(1, time + seconds(interval - 1)));
        time += seconds(interval);
        BOOST_TEST(is_due(1, time));
    }
    schedule.mark_polled({1}, true, false, start + time);
    BOOST_TEST(is_due(1, time + seconds(1)));
}

BOOST_AUTO_TEST_CASE(the_next_poll_is_when_one_is_due_but_in_1_to_5_seconds) {
    BOOST_TEST((schedule.next_poll(start) == start + seconds(5)));
    schedule.add({1}, true, start);
    BOOST_TEST((schedule.next_poll(start) == start + seconds(5)));
    schedule.add({2}, false, start);
    BOOST_TEST((schedule.next_poll(start) == start + seconds(1)));
    schedule.mark_polled({2}, false, false, start);  // due in 2 s
    BOOST_TEST((schedule.next_poll(start) == start + seconds(2)));
    schedule.mark_polled({2}, false, false, start);
    schedule.mark_polled({2}, false, false, start);  // due in 8 s
    BOOST_TEST((schedule.next_poll(start) == start + seconds(5)));
}

BOOST_AUTO_TEST_CASE(settled_experiments_are_looked_at_in_turn) {
    constexpr std::uint32_t count = PollSchedule::settled_per_poll + 5;
    for (std::uint32_t id = 1; id <= count; ++id) schedule.add({id}, true, start);
    std::vector<ExperimentId> seen;
    for (int poll = 0; poll < 3; ++poll) {
        auto const due = schedule.take_due(start);
        BOOST_TEST(due.size() == PollSchedule::settled_per_poll);
        seen.insert(seen.end(), due.begin(), due.end());
    }
    for (std::uint32_t id = 1; id <= count; ++id) BOOST_TEST(std::ranges::count(seen, ExperimentId{id}) == 2);
}

BOOST_AUTO_TEST_CASE(a_settled_experiment_that_has_changed_is_followed_again) {
    schedule.add({1}, true, start);
    schedule.mark_polled({1}, true, false, start);
    BOOST_TEST(!is_due(1, seconds(0)));
    BOOST_TEST(is_due(1, seconds(1)));
}

BOOST_AUTO_TEST_CASE(experiments_that_were_never_looked_at_are_known) {
    schedule.add({1}, false, start);
    schedule.add({2}, false, start);
    schedule.add({3}, true, start);
    BOOST_TEST((schedule.list_never_read() == std::vector<ExperimentId>{{1}, {2}}));
    schedule.mark_polled({1}, false, false, start);
    schedule.add({1}, false, start);
    BOOST_TEST((schedule.list_never_read() == std::vector<ExperimentId>{{2}}));
    BOOST_TEST((schedule.list_all() == std::vector<ExperimentId>{{1}, {2}, {3}}));
}

BOOST_AUTO_TEST_SUITE_END()
