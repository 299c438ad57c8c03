#include <det/queue/fold_jobs.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::queue;
using slurm::JobRef;
using slurm::JobStatus;

namespace fold_jobs_test {

using Groups = std::vector<std::vector<std::size_t>>;

JobStatus job(JobRef ref, std::string user, std::string comment = "") {
    JobStatus job;
    job.ref = ref;
    job.user = std::move(user);
    job.comment = std::move(comment);
    return job;
}

Groups fold(std::vector<JobStatus> const& jobs) {
    std::vector<JobStatus const*> pointers;
    for (auto const& each : jobs) pointers.push_back(&each);
    return fold_jobs(pointers);
}

}  // namespace fold_jobs_test

using namespace fold_jobs_test;

BOOST_AUTO_TEST_SUITE(fold_jobs_test)

BOOST_AUTO_TEST_CASE(tasks_of_an_array_and_jobs_of_an_experiment_are_one_group) {
    auto const groups = fold({job({8, 0}, "a"), job({3}, "a"), job({8, 2}, "a"), job({4}, "a"),
                              job({5, 1}, "a", "det:1a2b/7"), job({6, 2}, "a", "det:1a2b/7"),
                              job({7, 0}, "a", "det:1a2b/8")});
    BOOST_TEST((groups == Groups{{0, 2}, {1}, {3}, {4, 5}, {6}}));
}

BOOST_AUTO_TEST_CASE(the_same_comment_of_another_user_is_another_group) {
    BOOST_TEST((fold({job({5, 0}, "a", "det:1a2b/7"), job({6, 0}, "b", "det:1a2b/7")}) == Groups{{0}, {1}}));
    // A comment of the user's own joins no jobs.
    BOOST_TEST((fold({job({5}, "a", "mine"), job({6}, "a", "mine")}) == Groups{{0}, {1}}));
}

BOOST_AUTO_TEST_CASE(jobs_are_written_as_squeue_does) {
    BOOST_TEST(compress_job_refs({}) == "");
    BOOST_TEST(compress_job_refs({{12, {}}}) == "12");
    BOOST_TEST(compress_job_refs({{12, 3}}) == "12_3");
    BOOST_TEST(compress_job_refs({{12, 4}, {12, 3}}) == "12_[3-4]");
    BOOST_TEST(compress_job_refs({{12, 5}, {12, 3}}) == "12_[3,5]");
    BOOST_TEST(compress_job_refs({{12, 0}, {12, 3}, {12, 4}, {12, 5}, {12, 7}}) == "12_[0,3-5,7]");
    BOOST_TEST(compress_job_refs({{15, 1}, {12, 1}, {12, 0}, {13, {}}}) == "12_[0-1],13,15_1");
}

BOOST_AUTO_TEST_SUITE_END()
