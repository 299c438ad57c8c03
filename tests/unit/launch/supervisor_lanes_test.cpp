// Trials that share a job.
#include <boost/test/unit_test.hpp>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

BOOST_FIXTURE_TEST_SUITE(supervisor_lanes_test, SupervisorFixture)

BOOST_AUTO_TEST_CASE(lanes_run_their_own_trials_and_then_unclaimed_ones) {
    step_is("exit 0");
    auto a = packed_assignment(5);
    a.first_trial = 2;
    must(make_directories(experiment.trial(4).path()));
    must(write_file(experiment.trial(4).claimed(), "123_2\n"));
    BOOST_TEST(supervise(a) == 0);
    for (std::uint32_t trial = 0; trial < 5; ++trial) {
        BOOST_TEST(path_exists(experiment.trial(trial).run(0).supervisor_journal()) == (trial != 4), trial);
        BOOST_TEST(must(read_file(experiment.trial(trial).claimed())) ==
                   (trial == 4 ? "123_2\n" : "123_0\n"));
    }
}

BOOST_AUTO_TEST_CASE(in_a_continued_experiment_lanes_run_only_reopened_trials) {
    step_is("exit 0");
    auto a = packed_assignment(3);
    BOOST_TEST(supervise(a) == 0);
    a.spec.revisions = {{1, {{1, 1}}}};
    a.experiment = experiment.at_revision(1);
    must(make_directories(a.experiment.revision_path()));
    BOOST_TEST(supervise(a) == 0);
    for (std::uint32_t trial = 0; trial < 3; ++trial)
        BOOST_TEST(path_exists(experiment.trial(trial).run(1).supervisor_journal()) == (trial == 1), trial);
    BOOST_TEST(must(read_file(a.experiment.trial(1).claimed())) == "123_0\n");
}

BOOST_AUTO_TEST_CASE(a_paused_trial_is_released_and_the_others_continue) {
    acknowledging_step(R"([ "$DET_TRIAL_ID" = 7000001 ] || exit 0
        cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/trials/1/desired"; kill -USR2 $PPID
        while [ ! -e "$DET_RUN_PATH/asked" ]; do sleep 0.01; done)");
    auto a = packed_assignment(4);
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(!path_exists(experiment.trial(1).claimed()));
    BOOST_TEST(path_exists(experiment.trial(3).run(0).supervisor_journal()));
    BOOST_TEST(std::ranges::count(slurm.calls, "requeue-held 123_0") == 0);
}

BOOST_AUTO_TEST_CASE(one_requeue_serves_all_lanes_and_the_next_incarnation_runs_their_trials) {
    acknowledging_step(R"([ "$DET_TRIAL_RUN_ID" = 0 ] || exit 0
        touch "$DET_EXPERIMENT_PATH/begun-$DET_TRIAL_ID"
        until [ -e "$DET_EXPERIMENT_PATH/begun-7000000" ] && [ -e "$DET_EXPERIMENT_PATH/begun-7000001" ]; do sleep 0.01; done
        if [ "$DET_TRIAL_ID" = 7000001 ]; then while [ ! -e "$DET_RUN_PATH/asked" ]; do sleep 0.01; done; fi)");
    auto a = packed_assignment(2);
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(std::ranges::count(slurm.calls, "requeue-incomplete 123_0") == 1);
    a.incarnation.restart_count = 1;
    slurm.job->restarts = 1;
    BOOST_TEST(supervise(a) == 0);
    for (std::uint32_t trial = 0; trial < 2; ++trial)
        BOOST_TEST(path_exists(experiment.trial(trial).run(1).supervisor_journal()), trial);
}

BOOST_AUTO_TEST_CASE(fewer_tasks_than_trials_run_all_trials_one_after_the_other) {
    step_is("exit 0");
    auto a = packed_assignment(4);
    a.spec.lanes = 1;
    a.spec.has_fewer_tasks = true;
    must(make_directories(experiment.trial(2).path()));
    must(write_file(experiment.trial(2).claimed(), "123_1\n"));
    BOOST_TEST(supervise(a) == 0);
    for (std::uint32_t trial = 0; trial < 4; ++trial)
        BOOST_TEST(path_exists(experiment.trial(trial).run(0).supervisor_journal()) == (trial != 2), trial);
    a.spec.has_fewer_tasks = false;
    a.job.task = 3;
    BOOST_TEST(supervise(a) == 0);  // a task of its own runs its own trial only, which has ended
    BOOST_TEST(!path_exists(experiment.trial(2).run(0).supervisor_journal()));
}

BOOST_AUTO_TEST_CASE(a_trial_that_has_ended_leaves_its_claim_and_its_runs) {
    step_is("exit 0");
    auto const a = packed_assignment(2);
    BOOST_TEST(supervise(a) == 0);
    for (std::uint32_t trial = 0; trial < 2; ++trial) {
        auto const layout = experiment.trial(trial);
        BOOST_TEST((must(list_directory(layout.path())) == std::vector<std::string>{"claimed", "runs"}));
        BOOST_TEST((must(list_directory(layout.run(0).path())) == std::vector<std::string>{"life"}));
    }
}

BOOST_AUTO_TEST_SUITE_END()
