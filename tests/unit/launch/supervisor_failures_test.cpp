// Failures of nodes and of the trainer, and the nodes of the next run.
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/uuid.hpp>
#include <det/journal/bad_nodes.hpp>
#include <det/protocol/rank_failure.hpp>

#include <boost/test/unit_test.hpp>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

BOOST_FIXTURE_TEST_SUITE(supervisor_failures_test, SupervisorFixture)

BOOST_AUTO_TEST_CASE(repeated_failures_without_progress_end_the_trial_early) {
    // The first run commits a checkpoint, so that progress can be seen.
    auto const uuid = make_uuid();
    checkpoint::SharedFsStore store(root / "checkpoints");
    must(make_directories(store.path_of(uuid)));
    must(store.commit({uuid, "7.0", 100, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    must(make_directories(root / "saved"));
    auto chief = must(journal::JournalWriter::create(root / "saved/journal"));
    must(chief.append(CheckpointCommitted{UtcTime{1}, uuid, 100, {}, {}}));
    step_is("[ \"$DET_TRIAL_RUN_ID\" != 0 ] || cp '" + (root / "saved/journal").string() +
            "' \"$DET_RUN_PATH/journal\"\nexit 3");
    auto a = batch_job();
    a.spec.max_restarts = 9;
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(
        end_of(3).message.find("3 times in a row without having saved anything new") != std::string::npos,
        end_of(3).message);
    BOOST_TEST(!path_exists(run_path(4)));
}

BOOST_AUTO_TEST_CASE(a_failure_that_repeats_itself_ends_the_trial_unless_the_user_has_set_max_restarts) {
    auto const failure = [](std::string const& output) {
        return render_rank_failure({UtcTime{1}, 0, "n0", 3, 0, output});
    };
    must(write_file(root / "ends-0", failure("pid 17: no module named trainer\n")));
    must(write_file(root / "ends-1", failure("pid 4711: no module named trainer\n")));
    must(write_file(root / "ends-2", failure("no such data set\n")));
    step_is("cp \"" + root.path().string() +
            "/ends-$DET_TRIAL_RUN_ID\" \"$DET_RUN_PATH/node-0.ends\"; exit 3");
    auto a = batch_job();
    a.spec.has_default_max_restarts = true;
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_of(1).message.find("it failed twice in the same way: no restart") != std::string::npos,
               end_of(1).message);
    BOOST_TEST(!path_exists(run_path(2)));

    must(remove_tree(run_path(0)));
    must(remove_tree(run_path(1)));
    a.spec.has_default_max_restarts = false;
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_of(2).message.find("all 2 restarts are used up") != std::string::npos, end_of(2).message);

    for (int run = 0; run < 3; ++run) must(remove_tree(run_path(run)));
    a.spec.has_default_max_restarts = true;
    must(write_file(root / "ends-1", failure("another line\n")));
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_of(2).message.find("all 2 restarts are used up") != std::string::npos, end_of(2).message);
}

BOOST_AUTO_TEST_CASE(a_log_line_can_forbid_the_restart) {
    step_is("echo 'x RuntimeError: CUDA out of memory. Tried' >>\"$DET_RUN_PATH/node-1.log\"; exit 1");
    auto a = batch_job();
    a.spec.log_policies = {{"CUDA OOM", ".*CUDA out of memory.*", LogAction::cancel_retries}};
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(to_string(end_of(0).next_action) == "stop");
    BOOST_TEST(end_of(0).message.find("'CUDA OOM'") != std::string::npos, end_of(0).message);
}

BOOST_AUTO_TEST_CASE(a_log_line_without_an_action_is_named) {
    step_is("echo 'RuntimeError: CUDA out of memory' >>\"$DET_RUN_PATH/node-1.log\"; exit 1");
    auto a = batch_job();
    a.spec.max_restarts = 0;
    a.spec.log_policies = {{"CUDA OOM", ".*CUDA out of memory.*", LogAction::label},
                           {"ECC Error", "ECC error", LogAction::label}};
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_of(0).message == "the trainer ended with exit code 1 (in its log: CUDA OOM)");
}

BOOST_AUTO_TEST_CASE(a_node_excluded_by_a_log_line_is_replaced_by_a_spare_one) {
    step_is(R"([ "$DET_TRIAL_RUN_ID" != 0 ] || { echo 'ECC error' >"$DET_RUN_PATH/node-1.log"; exit 1; }
        echo "$*" >"$DET_RUN_PATH/argv")");
    auto a = batch_job();
    a.hosts = "n[0-2]";
    a.spec.spare_nodes = 1;
    a.spec.log_policies = {{"ECC", "ECC error", LogAction::exclude_node}};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(end_of(0).bad_hosts == "n1");
    BOOST_TEST(to_string(end_of(0).next_action) == "restart-in-place");
    BOOST_TEST(must(read_file(run_path(1) + "/argv")).find("--nodelist=n[0,2]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_respond_is_replaced_by_a_spare_one) {
    step_is(R"([ "$DET_TRIAL_RUN_ID" != 0 ] || { echo x >"$DET_RUN_PATH/node-0.log"; exit 1; }
        echo "$*" >"$DET_RUN_PATH/argv")");
    for (auto const* state : {"mixed+not_responding", "idle+fail", "down+not_responding"}) {
        slurm.node_list = {{"n0", "compute", "mixed", 8, 4, "", ""}, {"n1", "compute", state, 8, 4, "", ""}};
        auto a = batch_job();
        a.hosts = "n[0-2]";
        a.spec.spare_nodes = 1;
        BOOST_TEST(supervise(a) == 0);
        BOOST_TEST(to_string(end_of(0).cause) == "node-failed");
        BOOST_TEST(end_of(0).bad_hosts == "n1");
        BOOST_TEST(to_string(end_of(0).next_action) == "restart-in-place");
        BOOST_TEST(must(read_file(run_path(1) + "/argv")).find("--nodelist=n[0,2]") != std::string::npos);
        must(remove_tree(run_path(0)));
        must(remove_tree(run_path(1)));
        must(remove_tree(RootLayout(root.path()).bad_nodes()));
    }
}

BOOST_AUTO_TEST_CASE(a_node_that_srun_loses_first_is_no_failure_of_the_trainer) {
    // The message stands at the end of an output that may be long.
    step_is(
        "echo x >\"$DET_RUN_PATH/node-0.log\"; head -c 100000 /dev/zero | tr '\\0' '\\n' "
        ">>\"$DET_ROOT/output\"\n"
        "echo 'srun: error: Cannot communicate with node 1.  Aborting job.' >>\"$DET_ROOT/output\"; exit "
        "137");
    for (std::uint32_t run = 0; run < 5; ++run) {
        BOOST_TEST(supervise() == 0);
        BOOST_TEST(to_string(end_of(run).cause) == "node-failed");
        BOOST_TEST(to_string(end_of(run).next_action) == "requeue");
        BOOST_TEST(end_of(run).message.find("srun has lost: node n1") != std::string::npos,
                   end_of(run).message);
    }
}

/// What srun says at once if a node refuses its task.
constexpr char refused_by_n1[] =
    "echo 'srun: error: Task launch for StepId=123.0 failed on node n1: Communication connection failure' "
    ">>\"$DET_ROOT/output\"\n";

BOOST_AUTO_TEST_CASE(a_node_that_srun_cannot_reach_is_no_failure_of_the_trainer) {
    step_is(refused_by_n1 + std::string("echo x >\"$DET_RUN_PATH/node-0.log\"; exit 233"));
    for (std::uint32_t run = 0; run < 5; ++run) {
        BOOST_TEST(supervise() == 0);
        BOOST_TEST(to_string(end_of(run).cause) == "node-failed");
        BOOST_TEST(to_string(end_of(run).next_action) == "requeue");
        BOOST_TEST(end_of(run).message.find("could start nothing on: node n1") != std::string::npos,
                   end_of(run).message);
        BOOST_TEST(end_of(run).bad_hosts == "");
    }
    // With enough other nodes the job continues without it.
    for (auto const* name : {"n0", "n1", "n2"})
        slurm.node_list.push_back({name, "compute", "idle", 8, 0, "", ""});
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(end_of(5).bad_hosts == "n1");
}

BOOST_AUTO_TEST_CASE(nodes_without_a_trace_may_have_begun_if_srun_ends_within_seconds) {
    // srun kills the nodes that have not connected yet: only the one that it names was not reached.
    auto a = batch_job();
    a.hosts = "n[0-2]";
    a.spec.shape = {3, 4, SlotType::cuda};
    for (auto const* trace : {"echo x >\"$DET_RUN_PATH/node-0.log\"", ":"}) {
        step_is(refused_by_n1 + std::string(trace) + "; exit 233");
        BOOST_TEST(supervise(a) == 0);
        BOOST_TEST(to_string(end_of(0).cause) == "node-failed");
        BOOST_TEST(end_of(0).message.find("could start nothing on: node n1;") != std::string::npos,
                   end_of(0).message);
        must(remove_tree(run_path(0)));
    }
    step_is("echo x >\"$DET_RUN_PATH/node-0.log\"; exit 233");
    a.spec.max_restarts = 0;
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(to_string(end_of(0).cause) == "failed");
}

BOOST_AUTO_TEST_CASE(nodes_without_a_trace_after_the_time_in_which_each_makes_one_were_not_reached) {
    step_is("echo x >\"$DET_RUN_PATH/node-0.log\"; sleep 0.3; exit 233");
    clock.step = std::chrono::seconds(20);
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "node-failed");
    BOOST_TEST(end_of(0).message.find("could start nothing on: node n1") != std::string::npos,
               end_of(0).message);
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
                   "the trainer was not started: Unable to create step for job 123: no GPUs; requeued");
        BOOST_TEST(!path_exists(run_path(static_cast<int>(run) + 1)));
        BOOST_TEST(supervise() == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_step_that_never_started_ends_the_trial_with_sruns_error) {
    must(write_file(output(), ""));
    step_is("echo 'srun: error: Invalid --mpi' >>\"$DET_ROOT/output\"; exit 1");
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(2).cause) == "failed");
    BOOST_TEST(end_of(2).message.find("was not started: Invalid --mpi") != std::string::npos,
               end_of(2).message);
    BOOST_TEST(!path_exists(run_path(3)));
}

BOOST_AUTO_TEST_CASE(a_job_with_a_silent_node_is_replaced_not_requeued) {
    step_is(refused_by_n1 + std::string("echo x >\"$DET_RUN_PATH/node-0.log\"; exit 233"));
    BOOST_TEST(supervise(replaceable_assignment()) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "node-failed");
    BOOST_TEST(end_of(0).message.ends_with("; requeued (as job 4711)"), end_of(0).message);
    BOOST_TEST(slurm.calls.back() == "release 4711");
    BOOST_TEST(std::ranges::count(slurm.calls, "requeue-incomplete 123_0") == 0);
}

BOOST_AUTO_TEST_CASE(a_preempted_job_with_a_silent_node_is_replaced_too) {
    acknowledging_step("trap 'exit 1' EXIT");  // srun fails because of the lost node
    slurm.job->preempt_time = clock.now();
    slurm.job->end_time = UtcTime{clock.now().microseconds + 600'000'000};
    slurm.node_list = {{"n0", "compute", "mixed", 8, 4, "", ""}, {"n1", "compute", "mixed*", 8, 4, "", ""}};
    BOOST_TEST(supervise(replaceable_assignment()) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "preempted");
    BOOST_TEST(end_of(0).message.ends_with(" (as job 4711)"), end_of(0).message);
    BOOST_TEST(std::ranges::count(slurm.calls, "requeue-incomplete 123_0") == 0);
}

BOOST_AUTO_TEST_CASE(without_spare_nodes_the_job_is_requeued_without_that_node) {
    step_is("echo 'ECC error' >\"$DET_RUN_PATH/node-1.log\"; exit 1");
    for (auto const* name : {"n0", "n1", "n2"})
        slurm.node_list.push_back({name, "compute", "idle", 8, 0, "", ""});
    auto a = batch_job();
    a.spec.excluded_nodes = "n7";
    a.spec.log_policies = {{"ECC", "ECC error", LogAction::exclude_node}};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "requeue");
    BOOST_TEST(std::ranges::count(slurm.calls, "change 123_0 exclude=n7,n1") == 1);
    auto const bad = must(journal::load_bad_nodes(RootLayout(root.path())));
    BOOST_TEST(bad.size() == 1u);
    BOOST_TEST(bad.at(0).host == "n1");
    BOOST_TEST(bad.at(0).experiment.value == 7u);
    // With too few other nodes the job is not requeued.
    must(remove_tree(run_path(0)));
    slurm.node_list.pop_back();
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_of(0).message.find("not enough other nodes") != std::string::npos, end_of(0).message);
}

BOOST_AUTO_TEST_CASE(all_trials_of_the_experiment_leave_out_a_bad_node) {
    step_is("echo 'ECC error' >\"$DET_RUN_PATH/node-1.log\"; exit 1");
    for (auto const* name : {"n0", "n1", "n2", "n3"})
        slurm.node_list.push_back({name, "compute", "idle", 8, 0, "", ""});
    auto a = batch_job();
    a.spec.searcher = {"random", "loss", true, Json{{"max_trials", 4}}};
    a.spec.trial_count = 4;
    a.spec.searcher = {"random", "loss", true,
                       Json{{"name", "random"}, {"metric", "loss"}, {"max_trials", 4}}};
    a.spec.excluded_nodes = "n7";
    a.spec.log_policies = {{"ECC", "ECC error", LogAction::exclude_node}};
    BOOST_TEST(supervise(a) == 0);
    // The tasks of the array that wait, then this task.
    BOOST_TEST(std::ranges::count(slurm.calls, "change 123 exclude=n7,n1") == 1);
    BOOST_TEST(std::ranges::count(slurm.calls, "change 123_0 exclude=n7,n1") == 1);
    // Another trial of the experiment, with a spare node, avoids it at once.
    step_is(R"(echo "$*" >"$DET_RUN_PATH/argv")");
    must(make_directories(experiment.trial(1).path()));
    auto other = a;
    other.first_trial = 1;
    other.job = {123, 1};
    other.hosts = "n[0-2]";
    other.spec.spare_nodes = 1;
    BOOST_TEST(supervise(other) == 0);
    auto const argv = must(read_file(experiment.trial(1).run(0).path() / "argv"));
    BOOST_TEST(argv.find("--nodelist=n[0,2]") != std::string::npos, argv);
    // A record of another experiment does not concern this one.
    must(journal::remember_bad_node(RootLayout(root.path()), {"n0", {8}, UtcTime{1}, "x"}));
    BOOST_TEST((must_fail(journal::remember_bad_node(RootLayout(root.path()), {"../n0", {8}, {}, ""})).code ==
                codes::bad_value));
}

BOOST_AUTO_TEST_SUITE_END()
