// Whose failure it is, and which nodes the next run gets.
#include <boost/test/unit_test.hpp>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

BOOST_FIXTURE_TEST_SUITE(supervisor_failures_test, SupervisorFixture)

BOOST_AUTO_TEST_CASE(failures_that_get_no_further_end_before_the_restarts_do) {
    step_is("exit 3");
    auto a = assignment();
    a.spec.max_restarts = 9;
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(
        end_of(2).message.find("3 times in a row without having saved anything new") != std::string::npos,
        end_of(2).message);
    BOOST_TEST(!path_exists(run_path(3)));
}

BOOST_AUTO_TEST_CASE(a_line_of_the_log_can_forbid_the_restart) {
    step_is("echo 'x RuntimeError: CUDA out of memory. Tried' >>\"$DET_RUN_PATH/node-1.log\"; exit 1");
    auto a = assignment();
    a.spec.log_policies = {{"CUDA OOM", ".*CUDA out of memory.*", LogAction::cancel_retries}};
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(to_string(end_of(0).next_action) == "stop");
    BOOST_TEST(end_of(0).message.find("'CUDA OOM'") != std::string::npos, end_of(0).message);
}

BOOST_AUTO_TEST_CASE(a_node_that_a_line_of_the_log_speaks_of_is_exchanged_for_a_spare_one) {
    step_is(R"([ "$DET_TRIAL_RUN_ID" != 0 ] || { echo 'ECC error' >"$DET_RUN_PATH/node-1.log"; exit 1; }
        echo "$*" >"$DET_RUN_PATH/argv")");
    auto a = assignment();
    a.hosts = "n[0-2]";
    a.spec.spare_nodes = 1;
    a.spec.log_policies = {{"ECC", "ECC error", LogAction::exclude_node}};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(end_of(0).bad_hosts == "n1");
    BOOST_TEST(to_string(end_of(0).next_action) == "restart-in-place");
    BOOST_TEST(must(read_file(run_path(1) + "/argv")).find("--nodelist=n[0,2]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_node_on_which_srun_can_start_nothing_is_no_failure_of_the_trainer) {
    step_is("echo x >\"$DET_RUN_PATH/node-0.log\"; exit 233");
    for (std::uint32_t run = 0; run < 5; ++run) {
        BOOST_TEST(supervise() == 0);
        BOOST_TEST(to_string(end_of(run).cause) == "node-failed");
        BOOST_TEST(to_string(end_of(run).next_action) == "requeue");
        BOOST_TEST(end_of(run).message.find("could start nothing on: node n1") != std::string::npos,
                   end_of(run).message);
        BOOST_TEST(end_of(run).bad_hosts == "");
    }
    // Where there are enough others it goes on without.
    for (auto const* name : {"n0", "n1", "n2"})
        slurm.node_list.push_back({name, "compute", "idle", 8, 0, "", ""});
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(end_of(5).bad_hosts == "n1");
}

BOOST_AUTO_TEST_CASE(
    a_step_that_slurm_refuses_to_a_trial_that_has_begun_before_is_no_failure_of_the_trainer) {
    must(write_file(output(), "srun: error: of an earlier job\n"));
    step_is(R"([ "$DET_TRIAL_RUN_ID" != 0 ] || { echo x >"$DET_RUN_PATH/node-0.log"; exit 1; }
        echo 'srun: error: Unable to create step for job 123: no GPUs' >>"$DET_ROOT/output"; exit 1)");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "failed");
    for (std::uint32_t run = 1; run < 6; ++run) {
        BOOST_TEST(to_string(end_of(run).cause) == "not-launched");
        BOOST_TEST(to_string(end_of(run).next_action) == "requeue");
        BOOST_TEST(end_of(run).message ==
                   "the trainer was not started: Unable to create step for job 123: no GPUs; queued again");
        BOOST_TEST(!path_exists(run_path(static_cast<int>(run) + 1)));
        BOOST_TEST(supervise() == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_step_that_slurm_refuses_from_the_first_ends_the_trial_with_the_words_of_srun) {
    must(write_file(output(), ""));
    step_is("echo 'srun: error: Invalid --mpi' >>\"$DET_ROOT/output\"; exit 1");
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(2).cause) == "failed");
    BOOST_TEST(end_of(2).message.find("was not started: Invalid --mpi") != std::string::npos,
               end_of(2).message);
    BOOST_TEST(!path_exists(run_path(3)));
}

BOOST_AUTO_TEST_CASE(a_job_with_a_node_that_does_not_answer_is_not_requeued_but_replaced) {
    step_is("echo x >\"$DET_RUN_PATH/node-0.log\"; exit 233");
    BOOST_TEST(supervise(replaceable_assignment()) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "node-failed");
    BOOST_TEST(end_of(0).message.ends_with("; queued again (as job 4711)"), end_of(0).message);
    BOOST_TEST(slurm.calls.back() == "release 4711");
    BOOST_TEST(std::ranges::count(slurm.calls, "requeue-incomplete 123_0") == 0);
}

BOOST_AUTO_TEST_CASE(nor_is_one_that_was_preempted_while_slurm_hears_nothing_from_a_node_of_it) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    slurm.node_list = {{"n0", "compute", "mixed", 8, 4, "", ""}, {"n1", "compute", "mixed*", 8, 4, "", ""}};
    BOOST_TEST(supervise(replaceable_assignment()) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "preempted");
    BOOST_TEST(end_of(0).message.ends_with(" (as job 4711)"), end_of(0).message);
    BOOST_TEST(std::ranges::count(slurm.calls, "requeue-incomplete 123_0") == 0);
}

BOOST_AUTO_TEST_CASE(without_a_spare_one_the_job_is_queued_again_without_that_node) {
    step_is("echo 'ECC error' >\"$DET_RUN_PATH/node-1.log\"; exit 1");
    for (auto const* name : {"n0", "n1", "n2"})
        slurm.node_list.push_back({name, "compute", "idle", 8, 0, "", ""});
    auto a = assignment();
    a.spec.excluded_nodes = "n7";
    a.spec.log_policies = {{"ECC", "ECC error", LogAction::exclude_node}};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "requeue");
    BOOST_TEST(std::ranges::count(slurm.calls, "change 123_0 exclude=n7,n1") == 1);
    // Where too few are left there is nothing to wait for.
    must(remove_tree(run_path(0)));
    slurm.node_list.pop_back();
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_of(0).message.find("not enough nodes") != std::string::npos, end_of(0).message);
}

BOOST_AUTO_TEST_SUITE_END()
