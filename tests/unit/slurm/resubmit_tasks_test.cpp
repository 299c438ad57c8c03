// Tasks that are submitted again.
#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>
#include <det/slurm/resubmit_tasks.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "fake_clock.hpp"
#include "fake_slurm.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::slurm;

namespace submit_array_test {

struct Fixture {
    TemporaryDirectory root;
    ExperimentLayout experiment{RootLayout(root.path()), {7}};
    ExperimentSpec spec;
    FakeSlurm slurm;
    FakeClock clock;

    Fixture() {
        must(make_directories(experiment.events()));
        must(journal::append_event(experiment.events(),
                                   {"created", UtcTime{1}, "me@login", jobs_body({{100, 0, 4, 1}})}));
        spec.id = {7};
        spec.sbatch_options = {"--comment=det:ab/7", "--nice=100"};
    }
    static JobStatus job(std::uint32_t number, std::string const& comment,
                         JobState state = JobState::pending) {
        JobStatus status;
        status.ref = {number, 2};
        status.comment = comment;
        status.state = state;
        return status;
    }
    Result<ArrayJob> resubmit() {
        return resubmit_tasks(experiment, spec, {{100, 0, 4, 1, 0, {2}}}, {"me@n0", Environment(), clock},
                              slurm);
    }
};

}  // namespace submit_array_test

BOOST_FIXTURE_TEST_SUITE(submit_array_test, Fixture)

BOOST_AUTO_TEST_CASE(a_job_that_a_killed_sbatch_has_submitted_is_found_by_its_comment) {
    slurm.submit_error = Error{codes::submission_unclear, "Slurm did not answer sbatch"};
    slurm.other_jobs = {job(100, "det:ab/7"), job(101, "det:ab/8"), job(102, "det:ab/7", JobState::running),
                        job(103, "det:ab/7")};
    BOOST_TEST(must(resubmit()).job == 103u);
    auto const arrays = array_jobs_of(must(journal::load_events(experiment.events())));
    BOOST_TEST(arrays.back().job == 103u);
    BOOST_TEST(arrays.back().tasks == std::vector<std::uint32_t>{2}, boost::test_tools::per_element());
    // The resubmission is recorded now, so the next call submits another job.
    BOOST_TEST((must_fail(resubmit()).code == codes::submission_unclear));
}

BOOST_AUTO_TEST_CASE(a_plain_job_is_replaced_by_an_array_of_its_one_task) {
    ArrayJob plain{100, 0, 1, 1, 0, {0}};
    plain.is_plain_job = true;
    auto const next = must(resubmit_tasks(experiment, spec, {plain}, {"me@n0", Environment(), clock}, slurm));
    BOOST_TEST(!next.is_plain_job);
    auto const recorded = array_jobs_of(must(journal::load_events(experiment.events())));
    BOOST_TEST(recorded.back().job == next.job);
    BOOST_TEST(!recorded.back().is_plain_job);
    BOOST_TEST(slurm.submissions.back().options.back() == "--array=0");
}

BOOST_AUTO_TEST_CASE(a_refused_submission_looks_for_no_job) {
    slurm.submit_error = Error{codes::slurm_refused, "Slurm refused 'sbatch'"};
    slurm.other_jobs = {job(103, "det:ab/7")};
    BOOST_TEST((must_fail(resubmit()).code == codes::slurm_refused));
    BOOST_TEST(slurm.calls.empty());
}

BOOST_AUTO_TEST_CASE(the_comment_of_the_jobs_is_the_last_one_of_their_options) {
    BOOST_TEST(comment_of_jobs(spec).value() == "det:ab/7");
    spec.sbatch_options.push_back("--comment=mine");
    BOOST_TEST(comment_of_jobs(spec).value() == "mine");
    spec.sbatch_options.clear();
    BOOST_TEST(!comment_of_jobs(spec));
}

BOOST_AUTO_TEST_SUITE_END()
