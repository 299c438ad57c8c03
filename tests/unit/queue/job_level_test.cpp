#include <det/queue/job_level.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::queue;

namespace job_level_test {

int level(std::int64_t priority, std::int64_t nice, PriorityKind kind = PriorityKind::multifactor) {
    slurm::JobStatus job;
    job.priority = priority;
    job.nice = nice;
    return level_of(job, kind);
}

}  // namespace job_level_test

BOOST_AUTO_TEST_SUITE(job_level_test)

BOOST_AUTO_TEST_CASE(a_level_that_was_set_is_shown_again) {
    for (int wanted = most_urgent_level; wanted <= least_urgent_level; ++wanted) {
        auto const shown = level(1000, nice_of_level(wanted));
        BOOST_TEST(nice_of_level(shown) == nice_of_level(wanted));
        if (wanted != default_level)
            BOOST_TEST(level(priority_of_level(wanted), 0, PriorityKind::basic) == wanted);
    }
}

BOOST_AUTO_TEST_CASE(a_job_that_nobody_changed_has_the_default_level) {
    BOOST_TEST(level(1000, nice_of_level(default_level)) == default_level);
    BOOST_TEST(level(4'294'901'700, nice_of_level(default_level), PriorityKind::basic) == default_level);
}

BOOST_AUTO_TEST_CASE(low_computed_priorities_are_no_levels) {
    BOOST_TEST(level(1, nice_of_level(default_level)) == default_level);
    BOOST_TEST(level(1, nice_of_level(default_level), PriorityKind::basic) == least_urgent_level);
}

BOOST_AUTO_TEST_CASE(a_nice_beyond_the_scale_has_its_end) {
    BOOST_TEST(level(1000, 100'000) == least_urgent_level);
    BOOST_TEST(nice_of_level(level(1000, -100'000)) == nice_of_level(most_urgent_level));
}

BOOST_AUTO_TEST_SUITE_END()
