#include <det/slurm/command_client.hpp>
#include <det/slurm/srun.hpp>
#include <det/slurm/step_process.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "check_result.hpp"
#include "fake_clock.hpp"
#include "fake_process_runner.hpp"
#include "golden.hpp"
#include "slurm_recording.hpp"

using namespace det;
using namespace det::slurm;

namespace command_client_test {

struct Fixture {
    Environment environment{{{"PATH", "/bin"},
                             {"SQUEUE_FORMAT", "%j"},
                             {"SLURM_CONF", "/etc/slurm.conf"},
                             {"SLURM_NTASKS", "3"},
                             {"SLURM_JWT", "token"},
                             {"SBATCH_PARTITION", "x"},
                             {"SBATCH_ACCOUNT", "physics"},
                             {"SBATCH_TIMELIMIT", "60"},
                             {"SBATCH_CLUSTERS", "other"},
                             {"MINE", "kept"}}};
    FakeProcessRunner runner;
    FakeClock clock;
    CommandClient client{runner, environment, clock};
    Submission const submission{{"--hold", "--comment=det:a/1"}, "/x/script.sbatch", environment};
};

}  // namespace command_client_test

BOOST_FIXTURE_TEST_SUITE(command_client_test, Fixture)

BOOST_AUTO_TEST_CASE(a_submission_gives_options_on_the_command_line_and_a_clean_environment) {
    runner.answer(0, "4711;cluster\n");
    BOOST_TEST(must(client.submit(submission)) == 4711u);
    BOOST_TEST(runner.line(0) == "sbatch --parsable --hold --comment=det:a/1 /x/script.sbatch");
    auto const& seen = runner.calls[0].environment;
    BOOST_TEST(seen.find("MINE").value() == "kept");
    BOOST_TEST(seen.find("SLURM_CONF").value() == "/etc/slurm.conf");
    BOOST_TEST(seen.find("SLURM_JWT").value() == "token");
    BOOST_TEST(seen.find("SBATCH_ACCOUNT").value() == "physics");
    BOOST_TEST(seen.find("SBATCH_TIMELIMIT").value() == "60");
    BOOST_TEST(!seen.find("SBATCH_CLUSTERS"));
    BOOST_TEST(!seen.find("SLURM_NTASKS"));
    BOOST_TEST(!seen.find("SBATCH_PARTITION"));
    BOOST_TEST(!seen.find("SLURM_TIME_FORMAT"));
}

BOOST_AUTO_TEST_CASE(a_batch_script_keeps_the_users_variables_of_steps_unless_they_are_those_of_a_job) {
    auto of_script = submission;
    of_script.keeps_step_variables = true;
    of_script.environment.set("SRUN_CPUS_PER_TASK", "4");
    of_script.environment.set("PMIX_MCA_psec", "native");
    for (bool const is_in_job : {false, true}) {
        if (is_in_job) of_script.environment.set("SLURM_JOB_ID", "12");
        runner.answer(0, "4711\n");
        BOOST_TEST(must(client.submit(of_script)) == 4711u);
        auto const& seen = runner.calls.back().environment;
        for (auto const* name : {"SRUN_CPUS_PER_TASK", "PMIX_MCA_psec", "SLURM_NTASKS"})
            BOOST_TEST(seen.find(name).has_value() == !is_in_job, name);
        BOOST_TEST(!seen.find("SLURM_JOB_ID"));
        BOOST_TEST(!seen.find("SBATCH_PARTITION"));
        BOOST_TEST(seen.find("SBATCH_ACCOUNT").value() == "physics");
    }
}

BOOST_AUTO_TEST_CASE(refusal_and_silence_are_distinguished_and_slurms_message_is_kept) {
    runner.answer(1, "", "sbatch: error: Batch job submission failed: Invalid qos specification\n");
    auto const refused = must_fail(client.submit(submission));
    BOOST_TEST((refused.code == codes::slurm_refused));
    BOOST_TEST(refused.notes.at(0).find("Invalid qos specification") != std::string::npos);
    for (int i = 0; i < 3; ++i)
        runner.answer(1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n");
    BOOST_TEST((must_fail(client.query_queue({})).code == codes::slurm_unreachable));
    runner.answer(Error{codes::timed_out, "too long"});
    runner.answer(Error{codes::timed_out, "too long"});
    BOOST_TEST((must_fail(client.query_partitions()).code == codes::slurm_unreachable));
    runner.answer(Error{codes::no_such_file, "no squeue"});
    BOOST_TEST((must_fail(client.query_queue({})).code == codes::slurm_unreachable));
    runner.answer(Error{codes::timed_out, "'sbatch' did not end within 20 s"});
    BOOST_TEST((must_fail(client.submit(submission)).code == codes::submission_unclear));
    for (auto const* words : {"Socket timed out on send/recv operation",
                              "Zero Bytes were transmitted or received", "Message receive failure"}) {
        runner.answer(1, "", fmt::format("sbatch: error: Batch job submission failed: {}\n", words));
        BOOST_TEST((must_fail(client.submit(submission)).code == codes::submission_unclear), words);
    }
    runner.answer(1, "", "sbatch: error: Batch job submission failed: Unable to contact slurm controller\n");
    BOOST_TEST((must_fail(client.submit(submission)).code == codes::slurm_unreachable));
    runner.answer(0, "Submitted batch job 12\n");
    BOOST_TEST((must_fail(client.submit(submission)).code == codes::slurm_output));
}

BOOST_AUTO_TEST_CASE(a_change_that_slurm_refuses_at_random_is_repeated) {
    runner.answer(1, "", "Resource temporarily unavailable for job 7\n");
    runner.answer(1, "", "Interrupted system call for job 7\n");
    runner.answer(0, "");
    must(client.update_job({7, {}}, {.partition = "urgent"}));
    BOOST_TEST(runner.calls.size() == 3u);
    for (int i = 0; i < 40; ++i) runner.answer(1, "", "Resource temporarily unavailable for job 7\n");
    BOOST_TEST((must_fail(client.update_job({7, {}}, {.partition = "urgent"})).code == codes::slurm_refused));
    BOOST_TEST(runner.calls.size() == 43u);
    runner.answer(1, "", "Invalid partition name specified for job 7\n");
    BOOST_TEST((must_fail(client.update_job({7, {}}, {.partition = "x"})).code == codes::slurm_refused));
    BOOST_TEST(runner.calls.size() == 44u);
}

BOOST_AUTO_TEST_CASE(a_banner_of_a_wrapper_is_not_taken_for_the_job) {
    runner.answer(0, "Welcome! 42 nodes are up.\n7 days of maintenance\n4711;cluster\n");
    BOOST_TEST(must(client.submit(submission)) == 4711u);
    runner.answer(0, "4712\nHave a nice day\n");
    BOOST_TEST(must(client.submit(submission)) == 4712u);
    runner.answer(0, "0\n");
    BOOST_TEST((must_fail(client.submit(submission)).code == codes::slurm_output));
}

BOOST_AUTO_TEST_CASE(a_job_of_a_federation_is_cancelled_and_refused) {
    runner.answer(0, "67108863\n");  // the largest number of a cluster alone
    BOOST_TEST(must(client.submit(submission)) == 67108863u);
    runner.answer(0, "67108864\n");
    runner.answer(0, "");
    auto const refused = must_fail(client.submit(submission));
    BOOST_TEST((refused.code == codes::not_supported));
    BOOST_TEST(runner.line(2) == "scancel 67108864");
    BOOST_TEST(refused.notes.empty());
    runner.answer(0, "67108865\n");
    runner.answer(1, "", "scancel: error: Access/permission denied\n");
    BOOST_TEST(must_fail(client.submit(submission)).notes.at(0).find("job 67108865 is still there") == 0u);
}

BOOST_AUTO_TEST_CASE(requests_go_to_the_cluster_that_jobs_are_submitted_to) {
    CommandClient elsewhere(runner, Environment{{{"SLURM_CLUSTERS", "other"}}}, clock);
    runner.answer(0, "");
    must(elsewhere.cancel({7, {}}));
    BOOST_TEST(!runner.calls[0].environment.find("SLURM_CLUSTERS"));
}

BOOST_AUTO_TEST_CASE(sbatch_gets_the_time_that_it_needs_to_repeat_its_request) {
    using namespace std::chrono_literals;
    runner.answer(0, "1\n");
    runner.answer(0, "");
    must(client.submit(submission));
    must(client.release({1, {}}));
    BOOST_TEST((runner.calls[0].timeout == 150s));
    BOOST_TEST((runner.calls[1].timeout == 20s));
    auto const named = must(
        parse_call_timeouts(Environment{{{"DET_SBATCH_TIMEOUT_S", "600"}, {"DET_SLURM_TIMEOUT_S", "1"}}}));
    BOOST_TEST((named.submission == 600s && named.other == 1s));
    for (auto const* wrong : {"0", "3601", "-1", "1.5", "x"}) {
        auto const error = must_fail(parse_call_timeouts(Environment{{{"DET_SLURM_TIMEOUT_S", wrong}}}));
        BOOST_TEST((error.code == codes::usage), wrong);
    }
}

BOOST_AUTO_TEST_CASE(hidden_nodes_are_those_that_the_partitions_tell) {
    runner.answer(
        0,
        "PartitionName=a TotalCPUs=16 TotalNodes=2 Nodes=n[0-1] State=UP TRES=cpu=16,mem=8G,node=2\n"
        "PartitionName=empty TotalCPUs=0 TotalNodes=0 Nodes= State=UP\n"
        "PartitionName=typed TotalCPUs=16 TotalNodes=2 Nodes=n[0-1] "
        "TRES=cpu=16,node=2,gres/gpu=8,gres/gpu:a100=8,gres/gpumem=1G\n"
        "PartitionName=mixed TotalCPUs=16 TotalNodes=2 TRES=gres/gpu=9,gres/gpu:a100=4,gres/gpu:t4=5\n"
        "PartitionName=few TotalCPUs=16 TotalNodes=4 TRES=gres/gpu:a100=2\n"
        "PartitionName=half TotalCPUs=16 TotalNodes=2 TRES=gres/gpu=8,gres/gpu:a100=4\n"
        "PartitionName=wrong TotalCPUs=16 TotalNodes=2 TRES=gres/gpu=x,gres/gpu,gres/gpu:=-1\n");
    runner.answer(1, "", "slurm_load_node: Access/permission denied\n");
    auto const partitions = must(client.query_partitions());
    BOOST_REQUIRE(partitions.size() == 7u);
    BOOST_TEST(!partitions[0].has_node_facts);
    BOOST_TEST((partitions[0].nodes == std::vector<NodeGroup>{{2, 8, "idle", "(null)", "(null)", "n[0-1]"}}));
    BOOST_TEST(partitions[1].nodes.empty());
    auto const gres_of = [&](std::size_t i) { return partitions[i].nodes.at(0).gres; };
    BOOST_TEST(gres_of(2) == "gpu:a100:4");
    BOOST_TEST(gres_of(3) == "gpu:4");       // of several types
    BOOST_TEST(gres_of(4) == "gpu:a100:1");  // some of its nodes have one
    BOOST_TEST(gres_of(5) == "gpu:4");       // the other 4 have no type
    BOOST_TEST(gres_of(6) == "(null)");
    runner.answer(1, "", "slurm_load_node: Access/permission denied\n");
    BOOST_TEST(must(client.query_nodes()).empty());
}

BOOST_AUTO_TEST_CASE(users_settings_do_not_change_what_squeue_prints) {
    runner.answer(0, "");
    BOOST_TEST(must(client.query_queue({.user = "me", .jobs = {1, 2}, .include_finished = true})).empty());
    BOOST_TEST(runner.line(0) == "squeue --noheader --array --all --user=me --states=all --jobs=1,2");
    BOOST_TEST(!runner.calls[0].environment.find("SQUEUE_FORMAT"));
    BOOST_TEST(runner.calls[0].environment.find("SLURM_TIME_FORMAT").value() == "%s");
}

BOOST_AUTO_TEST_CASE(the_separator_is_new_each_time_and_not_an_argument) {
    for (int i = 0; i < 2; ++i) {
        runner.answer(0, "");
        must(client.query_queue({}));
    }
    auto const first = separator_of(runner.calls[0]), second = separator_of(runner.calls[1]);
    BOOST_TEST(first.size() > 20u);
    BOOST_TEST(first != second);
    BOOST_TEST(runner.line(0).find(first) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_reading_is_repeated_after_a_short_silence) {
    runner.answer(1, "", "sinfo: error: Zero Bytes were transmitted or received\n");
    runner.answer(1, "", "slurm_load_node: Unable to contact slurm controller (connect failure)\n");
    runner.answer(0, "");
    BOOST_TEST(must(client.query_nodes()).empty());
    BOOST_TEST(runner.calls.size() == 3u);
    BOOST_TEST((clock.steady_now().time_since_epoch() == std::chrono::milliseconds(1800)));
}

BOOST_AUTO_TEST_CASE(a_submission_is_never_repeated) {
    runner.answer(1, "", "sbatch: error: Unable to contact slurm controller (connect failure)\n");
    BOOST_TEST((must_fail(client.submit(submission)).code == codes::slurm_unreachable));
    BOOST_TEST(runner.calls.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_reading_is_not_repeated_after_a_long_silence) {
    class SlowRunner final : public ProcessRunner {
    public:
        explicit SlowRunner(FakeClock& time) : time_(time) {}
        Result<ProcessOutput> run(Command const&) override {
            ++calls;
            time_.sleep_for(std::chrono::seconds(10));
            return ProcessOutput{1, "", "Unable to contact slurm controller (connect failure)"};
        }
        int calls = 0;

    private:
        FakeClock& time_;
    } slow(clock);
    CommandClient patient(slow, environment, clock);
    BOOST_TEST((must_fail(patient.query_queue({})).code == codes::slurm_unreachable));
    BOOST_TEST(slow.calls == 1);
}

BOOST_AUTO_TEST_CASE(a_job_that_slurm_has_forgotten_is_absent_not_an_error) {
    runner.answer(1, "", "slurm_load_jobs error: Invalid job id specified\n");
    BOOST_TEST(!must(client.query_job({123, 4})).has_value());
}

BOOST_AUTO_TEST_CASE(every_call_about_a_task_names_it_with_its_index) {
    for (int i = 0; i < 4; ++i) runner.answer(0, "");
    must(client.requeue({123, 4}, SlurmClient::RequeueScope::incomplete));
    must(client.requeue({123, 4}, SlurmClient::RequeueScope::any));
    must(client.start_not_before({123, 4}, std::chrono::seconds(5)));
    must(client.cancel({123, 4}));
    BOOST_TEST(runner.line(0) == "scontrol requeue Incomplete 123_4");
    BOOST_TEST(runner.line(1) == "scontrol requeue 123_4");
    BOOST_TEST(runner.line(2) == "scontrol update JobId=123_4 StartTime=now+5");
    BOOST_TEST(runner.line(3) == "scancel 123_4");
}

BOOST_AUTO_TEST_CASE(a_step_is_found_by_its_job_and_its_name) {
    runner.answer(
        0, "     123_4.0 7.0.1\n    123_4.1 7.0.10\n  123_4.batch batch\n 1123_4.7 7.0.1\n123_40.0 7.0.1\n");
    runner.answer(0, "");
    must(client.cancel_step({123, 4}, "7.0.1"));
    BOOST_TEST(runner.line(1) == "scancel 123_4.0");
    runner.answer(0, "");
    must(client.cancel_step({123, 4}, "7.0.1"));  // gone: nothing is cancelled
}

BOOST_AUTO_TEST_CASE(all_steps_of_a_job_are_cancelled_but_the_batch_script) {
    runner.answer(
        0, "  123_4.0 train\n  123_4.12 a b\n  123_4.batch batch\n 123_4.extern extern\n 123_40.0 x\n");
    runner.answer(0, "");
    must(client.cancel_steps({123, 4}));
    BOOST_TEST(runner.line(1) == "scancel 123_4.0 123_4.12");
    runner.answer(0, "  123_4.batch batch\n");
    must(client.cancel_steps({123, 4}));  // there are none: scancel is not called
}

BOOST_AUTO_TEST_CASE(changes_name_only_what_changes) {
    for (int i = 0; i < 9; ++i) runner.answer(0, "");
    must(client.update_job({7, 1}, {.nice = 20, .partition = "urgent"}));
    must(client.update_job({7, {}}, {.priority = 5, .running_tasks_max = 2}));
    must(client.hold({7, 1}));
    must(client.release({7, {}}));
    must(client.move_to_top({{7, {}}, {8, 0}}));
    must(client.signal_batch({7, 1}, "USR2"));
    must(client.cancel_pending_tasks({7, {}}));
    must(client.requeue_held({7, 1}));
    must(client.update_job({7, 1}, {.excluded_nodes = "n[1,3]"}));
    BOOST_TEST(runner.line(0) == "scontrol update JobId=7_1 Nice=20 Partition=urgent");
    BOOST_TEST(runner.line(1) == "scontrol update JobId=7 Priority=5 ArrayTaskThrottle=2");
    BOOST_TEST(runner.line(2) == "scontrol hold 7_1");
    BOOST_TEST(runner.line(3) == "scontrol release 7");
    BOOST_TEST(runner.line(4) == "scontrol top 7,8_0");
    BOOST_TEST(runner.line(5) == "scancel --verbose --ctld --batch --signal=USR2 7_1");
    BOOST_TEST(runner.line(6) == "scancel --state=PENDING 7");
    BOOST_TEST(runner.line(7) == "scontrol requeuehold Incomplete 7_1");
    BOOST_TEST(runner.line(8) == "scontrol update JobId=7_1 ExcNodeList=n[1,3]");
}

BOOST_AUTO_TEST_CASE(a_prepared_release_is_an_scontrol_that_reads_its_command) {
    runner.starts_ahead = true;
    runner.answer(0, "scontrol: release 7\nscontrol: \n");
    client.prepare_release();
    BOOST_TEST(runner.calls.empty());
    must(client.release({7, {}}));
    BOOST_TEST(runner.inputs == std::vector<std::string>{"release 7\n"}, boost::test_tools::per_element());
    BOOST_TEST(runner.line(0) == "scontrol");
    BOOST_TEST(runner.calls[0].environment.find("SLURM_CONF").value() == "/etc/slurm.conf");
    // It serves one release.
    runner.answer(0, "");
    must(client.release({8, {}}));
    BOOST_TEST(runner.line(1) == "scontrol release 8");
}

BOOST_AUTO_TEST_CASE(a_prepared_release_that_fails_is_repeated_by_a_usual_one) {
    runner.starts_ahead = true;
    // The second one has read the command and starts an scontrol that finds none.
    for (auto const& wrapper : {Result<ProcessOutput>(ProcessOutput{1, "", "usage: scontrol COMMAND\n"}),
                                Result<ProcessOutput>(ProcessOutput{0, "scontrol: \n", ""}),
                                Result<ProcessOutput>(Error{codes::process, "has not read its input"})}) {
        if (wrapper) runner.answer(wrapper->exit_code, wrapper->out, wrapper->err);
        if (!wrapper) runner.answer(wrapper.error());
        runner.answer(0, "");
        client.prepare_release();
        must(client.release({7, {}}));
        BOOST_TEST(runner.line(runner.calls.size() - 1) == "scontrol release 7");
    }
    runner.answer(1, "", "Job is no longer pending execution for job 7\n");
    runner.answer(1, "", "Job is no longer pending execution for job 7\n");
    client.prepare_release();
    BOOST_TEST((must_fail(client.release({7, {}})).code == codes::slurm_refused));
    // What took too long, or had no answer, is not repeated: it may have had an effect.
    runner.answer(1, "scontrol: release 7\nscontrol: \n",
                  "slurm_suspend error: Unable to contact slurm controller (connect failure)\n");
    client.prepare_release();
    BOOST_TEST((must_fail(client.release({7, {}})).code == codes::slurm_unreachable));
    runner.answer(Error{codes::timed_out, "'scontrol' did not end within 20 s"});
    client.prepare_release();
    BOOST_TEST((must_fail(client.release({7, {}})).code == codes::slurm_unreachable));
}

BOOST_AUTO_TEST_CASE(a_signal_is_sent_once_although_scancel_would_repeat_it) {
    runner.answer(128 + SIGKILL, "",
                  "scancel: Signal 23 to batch job 7_1\nscancel: Job is in transitional state, retrying\n");
    must(client.signal_batch({7, 1}, "URG"));
    BOOST_TEST(runner.calls.at(0).last_message == "Job is in transitional state, retrying");
    // Any failure is final, and its reason is known.
    runner.answer(1, "",
                  "scancel: select/linear: init: Linear node selection plugin loaded with argument 1\n"
                  "scancel: error: Kill job error on job id 7_1: Job/step already completing or completed\n");
    auto const ended = must_fail(client.signal_batch({7, 1}, "URG"));
    BOOST_TEST((ended.code == codes::slurm_refused));
    BOOST_TEST(ended.notes.at(0) ==
               "scancel said: scancel: error: Kill job error on job id 7_1: Job/step already completing or "
               "completed");
    runner.answer(3, "");
    BOOST_TEST(must_fail(client.cancel({7, 1})).notes.at(0) ==
               "scancel said: nothing, and ended with exit code 3");
}

BOOST_AUTO_TEST_CASE(a_task_that_runs_has_a_job_number_of_its_own) {
    runner.answer(0, "17\n");
    BOOST_TEST(must(client.query_running_job_id({12, 3})) == 17u);
    BOOST_TEST(runner.line(0) == "squeue --noheader --states=RUNNING --format=%A --jobs=12_3");
    runner.answer(0, "");
    BOOST_TEST((must_fail(client.query_running_job_id({12, 3})).code == codes::no_such_job));
    runner.answer(1, "", "slurm_load_jobs error: Invalid job id specified");
    BOOST_TEST((must_fail(client.query_running_job_id({12, 3})).code == codes::no_such_job));
}

BOOST_AUTO_TEST_CASE(the_settings_of_slurmctld_are_found_by_name) {
    runner.answer(0,
                  "Configuration data as of 2026-11-21\nMaxArraySize            = 1001\n"
                  "MinJobAge               = 300 sec\nPrologFlags             = (null)\n"
                  "SchedulerParameters     = enable_user_top,bf_window=60\n");
    auto const config = must(client.query_cluster_config());
    BOOST_TEST(config.find_number("MaxArraySize").value() == 1001);
    BOOST_TEST(config.find_number("MinJobAge").value() == 300);
    BOOST_TEST(config.find("PrologFlags").value() == "");
    BOOST_TEST(!config.find("NoSuchThing"));
    BOOST_TEST(config.has_option("SchedulerParameters", "enable_user_top"));
    BOOST_TEST(config.has_option("SchedulerParameters", "bf_window"));
    BOOST_TEST(!config.has_option("SchedulerParameters", "user_top"));
}

BOOST_AUTO_TEST_CASE(a_step_request_gives_every_count) {
    std::string lines;
    for (auto const& request :
         {StepRequest{{2, 4, SlotType::cuda}, Launch::rank, "pmix", 8, {"det-wrap-rank", "x y"}},
          StepRequest{{2, 4, SlotType::cuda}, Launch::node, "none", 8, {"det-wrap-rank"}},
          StepRequest{{1, 0, SlotType::cpu}, Launch::rank, "none", 2, {"true"}}}) {
        lines += join(render_srun(request), " ") + "\n";
    }
    StepRequest unknown_gpus{{2, 4, SlotType::cuda}, Launch::node, "none", 8, {"det-wrap-rank"}};
    unknown_gpus.has_gres = false;
    lines += join(render_srun(unknown_gpus), " ") + "\n";
    StepRequest bound_by_wrappers{{2, 4, SlotType::cuda}, Launch::rank, "pmix", 8, {"det-wrap-rank"}};
    bound_by_wrappers.binds_ranks = false;
    bound_by_wrappers.options = {"--network=single_node_vni"};
    lines += join(render_srun(bound_by_wrappers), " ") + "\n";
    for (auto const* mpi : {"default", "cray_shasta"}) {
        StepRequest request{{1, 2, SlotType::cpu}, Launch::rank, mpi, 2, {"true"}};
        lines += join(render_srun(request), " ") + "\n";
    }
    check_golden("srun.txt", lines);
}

BOOST_AUTO_TEST_CASE(a_step_process_is_watched_and_its_exit_code_kept) {
    auto const ours = Environment::of_this_process();
    auto step = must(StepProcess::start({"/bin/sh", "-c", "exit 7"}, ours));
    BOOST_TEST(step.wait() == 7);
    BOOST_TEST(step.poll_exit().value() == 7);
    auto killed = must(StepProcess::start({"/bin/sleep", "60"}, ours));
    BOOST_TEST(!killed.poll_exit().has_value());
    killed.signal(SIGTERM);  // blocked: a notice must not end the step
    killed.signal(SIGKILL);
    BOOST_TEST(killed.wait() == 128 + SIGKILL);
    BOOST_TEST((must_fail(StepProcess::start({"/no/such/srun"}, ours)).code == codes::no_such_file));
}

BOOST_AUTO_TEST_CASE(a_line_reaches_the_standard_input_of_a_step_and_none_is_an_error_after_its_end) {
    auto step = must(StepProcess::start({"/bin/sh", "-c", "read line; [ \"$line\" = stop ] && exit 7"},
                                        Environment::of_this_process()));
    must(step.write_line("stop"));
    BOOST_TEST(step.wait() == 7);
    BOOST_TEST(!step.write_line("stop").has_value());  // and no SIGPIPE
}

BOOST_AUTO_TEST_SUITE_END()
