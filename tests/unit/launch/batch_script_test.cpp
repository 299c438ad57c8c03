// launch: script: a batch script of the user under det-wrap-rank, and under the supervisor.
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/job_command.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fmt/format.h>
#include <unistd.h>

#include "check_result.hpp"
#include "make_step_request.hpp"
#include "notice_delivery.hpp"
#include "own_script.hpp"
#include "run_environment.hpp"
#include "script_signals.hpp"
#include "supervisor_fixture.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace batch_script_test {

/// The wrapper of a batch script, in a job without steps.
struct WrappedScript {
    TemporaryDirectory directory;
    Environment environment = Environment::of_this_process();

    WrappedScript() {
        must(make_directories(directory / "runs/0"));
        for (auto const& [name, value] : std::vector<std::pair<std::string, std::string>>{
                 {"WRAP", test::built_path("bin/det-wrap-rank")},
                 {"DIR", directory.path().string()},
                 {"SLURM_JOB_ID", "12"},
                 {"SLURM_JOB_NODELIST", "localhost"},
                 {"SLURMD_NODENAME", "localhost"},
                 {"DET_RUN_HOSTS", "localhost"},
                 {"DET_RUN_KEY", "7.0.0-12-0"},
                 {"DET_RUN_JOB", "12"},
                 {"DET_RUN_PATH", (directory / "runs/0").string()},
                 {"DET_LOCAL_DIR", directory.path().string()},
                 {"DET_LAUNCH", "script"},
                 {"DET_FORWARD_SIGNALS", "TERM"},
                 {"DET_STEP_REQUESTS", "1"}}) {
            environment.set(name, value);
        }
    }
    /// Runs a shell script with `script`, the user's one, below the wrapper as $1 ...
    ProcessOutput shell(std::string const& text, std::string const& users_script) const {
        must(write_file(directory / "job.sh", "#!/bin/bash\n" + users_script, 0755));
        SystemProcessRunner runner;
        return must(runner.run({{"/bin/bash", "-c", "cd \"$DIR\"\n" + std::string(functions) + text},
                                environment,
                                std::chrono::seconds(30)}));
    }
    ProcessOutput run(std::string const& users_script) const {
        return shell("\"$WRAP\" --script \"$DIR\" ./job.sh </dev/null", users_script);
    }
    std::string log() const { return must(read_file(directory / "runs/0/node-0.log")); }

    // Waits for a file; the runner's timeout ends the test otherwise.
    static constexpr char functions[] =
        "until_there() { until [ -e \"$1\" ]; do sleep 0.01; done; }\n"
        "start() { mkfifo requests; \"$WRAP\" --script \"$DIR\" ./job.sh <requests & wrapper=$!; "
        "exec 3>requests; until_there ready; }\n";
};

}  // namespace batch_script_test

BOOST_FIXTURE_TEST_SUITE(wrapped_batch_script_test, batch_script_test::WrappedScript)

BOOST_AUTO_TEST_CASE(the_output_is_unchanged_in_both_places_and_the_exit_code_is_the_scripts) {
    auto const output = run("echo out; echo err >&2; exit 3");
    BOOST_TEST(output.exit_code == 3);
    BOOST_TEST(output.out == "out\n");
    BOOST_TEST(output.err == "err\n");
    BOOST_TEST(log().find("Z out\n") != std::string::npos, log());
    BOOST_TEST(log().find("Z err\n") != std::string::npos, log());
}

BOOST_AUTO_TEST_CASE(streams_that_are_one_file_keep_their_order) {
    auto const output = shell("\"$WRAP\" --script \"$DIR\" ./job.sh </dev/null >all 2>&1; cat all",
                              "for i in $(seq 200); do echo out $i; echo err $i >&2; done");
    std::string expected;
    for (int i = 1; i <= 200; ++i) expected += fmt::format("out {0}\nerr {0}\n", i);
    BOOST_TEST(output.out == expected);
}

BOOST_AUTO_TEST_CASE(a_script_has_its_directory_no_input_and_no_blocked_signal) {
    must(make_directories(directory / "here"));
    auto const output = shell("\"$WRAP\" --script \"$DIR/here\" \"$DIR/job.sh\" </dev/null",
                              "pwd; echo $PWD; readlink /proc/self/fd/0; grep SigBlk /proc/self/status");
    auto const here = (directory / "here").string();
    BOOST_TEST(output.out == fmt::format("{0}\n{0}\n/dev/null\nSigBlk:\t0000000000000000\n", here),
               output.out + output.err);
}

BOOST_AUTO_TEST_CASE(exported_functions_stay) {
    environment.set("BASH_FUNC_module%%", "() {  echo \"module $*\"\n}");
    BOOST_TEST(run("module load cuda").out == "module load cuda\n");
}

BOOST_AUTO_TEST_CASE(a_signal_reaches_the_scripts_first_process_only) {
    auto const output =
        shell("start; kill -USR1 $wrapper; wait $wrapper",
              "trap 'echo trapped; exit 5' USR1\n"
              "bash -c 'trap \"echo child\" USR1; touch ready; sleep 0.5 & wait $!; echo slept' &\n"
              "wait; exit 9");
    BOOST_TEST(output.exit_code == 5, output.err);
    BOOST_TEST(output.out == "trapped\n");
}

BOOST_AUTO_TEST_CASE(a_notice_reaches_a_script_that_traps_term_and_only_its_shell) {
    // TERM of Slurm at the end of a grace period, and the request of the supervisor at its begin.
    for (std::string const notice : {"kill -TERM $wrapper", "echo notice >&3", "echo stop >&3"}) {
        must(remove_tree(directory / "ready"));
        must(remove_tree(directory / "requests"));
        auto const output = shell("start; " + notice + "; wait $wrapper",
                                  "trap 'echo saved; exit 6' TERM\n"
                                  "python3 -c '\n"
                                  "import signal, time\n"
                                  "signal.signal(signal.SIGTERM, lambda *_: print(\"child\", flush=True))\n"
                                  "open(\"ready\", \"w\").close()\n"
                                  "time.sleep(60)' &\n"
                                  "wait; exit 9");
        BOOST_TEST(output.exit_code == 6, notice << output.err);
        BOOST_TEST(output.out == "saved\n", notice);
        BOOST_TEST(path_exists(directory / "runs/0/noticed") == (notice != "echo stop >&3"), notice);
        must(remove_tree(directory / "runs/0/noticed"));
    }
}

BOOST_AUTO_TEST_CASE(a_notice_does_not_end_a_script_that_does_not_trap_it) {
    auto const output = shell("start; echo notice >&3; until_there runs/0/noticed; touch go; wait $wrapper",
                              "touch ready; until [ -e go ]; do sleep 0.01; done; echo goes on");
    BOOST_TEST(output.exit_code == 0, output.err);
    BOOST_TEST(output.out == "goes on\n");
}

BOOST_AUTO_TEST_CASE(a_request_to_end_leaves_no_process) {
    auto const output =
        shell("start; echo end >&3; wait $wrapper; code=$?; ! kill -0 $(cat left) 2>/dev/null && exit $code",
              "setsid bash -c 'trap \"\" TERM; echo $$ >left; touch ready; sleep 60' &\n"
              "trap '' TERM; sleep 60; sleep 60");
    BOOST_TEST(output.exit_code != 0);
    auto const left = parse_integer<pid_t>(trim(must(read_file(directory / "left")))).value();
    BOOST_TEST((::kill(left, 0) != 0 && errno == ESRCH));
}

BOOST_AUTO_TEST_CASE(the_end_of_a_script_ends_what_it_has_started) {
    auto const output = run("setsid sleep 60 & echo $! >left; exit 4");
    BOOST_TEST(output.exit_code == 4);
    auto const left = parse_integer<pid_t>(trim(must(read_file(directory / "left")))).value();
    BOOST_TEST((::kill(left, 0) != 0 && errno == ESRCH));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(script_notices_test)

using launch::wrap_rank::NoticeOrder;
using launch::wrap_rank::ProcessView;
using Reaction = ProcessView::Reaction;

BOOST_AUTO_TEST_CASE(a_launcher_that_has_started_ranks_gets_no_notice_in_a_script) {
    auto const receivers = [](std::vector<ProcessView> const& processes) {
        return launch::wrap_rank::choose_receivers(processes, 10, NoticeOrder::first_process_first).processes;
    };
    using Pids = std::vector<pid_t>;
    // The shell, torchrun, and two ranks.
    std::vector<ProcessView> tree{{10, 1}, {11, 10, Reaction::caught}, {12, 11}, {13, 11}};
    tree[2].is_rank = tree[3].is_rank = true;
    BOOST_TEST(receivers(tree).empty());
    tree[3].reaction = Reaction::caught;
    BOOST_TEST(receivers(tree) == Pids{13});
    tree[0].reaction = Reaction::caught;
    BOOST_TEST(receivers(tree) == Pids{10});
    BOOST_TEST(receivers({{10, 1}, {11, 10, Reaction::caught}}) == Pids{11});
    BOOST_TEST(receivers({{10, 1}, {11, 10, Reaction::caught, false, "srun"}}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(supervised_batch_script_test, SupervisorFixture)

BOOST_AUTO_TEST_CASE(a_script_has_the_variables_of_its_job_and_of_its_own_array) {
    auto job = batch_job();
    job.spec.launch = Launch::script;
    job.spec.batch_script = BatchScriptSpec{"/home/me", {1, 3, 5}};
    RunPlan plan;
    plan.id = {{job.spec.id, 0}, 0};
    plan.hosts = "n[0-1]";
    // The environment of a successor of the job, whose array has one task.
    Environment const of_job({{"SLURM_JOB_ID", "200"},
                              {"SLURM_NTASKS_PER_NODE", "4"},
                              {"SLURM_CPUS_PER_TASK", "2"},
                              {"SLURM_ARRAY_JOB_ID", "200"},
                              {"SLURM_ARRAY_TASK_ID", "3"},
                              {"SLURM_ARRAY_TASK_COUNT", "1"},
                              {"SLURM_ARRAY_TASK_MIN", "3"},
                              {"SLURM_ARRAY_TASK_MAX", "3"},
                              {"SLURM_ARRAY_TASK_STEP", "1"},
                              {"MASTER_PORT", "6000"},
                              {"DET_SPANK", "auto"}});
    auto const environment = make_run_environment(job, plan, of_job);
    for (auto const& [name, value] : Variables{{"SLURM_NTASKS_PER_NODE", "4"},
                                               {"SLURM_CPUS_PER_TASK", "2"},
                                               {"SLURM_ARRAY_JOB_ID", "200"},
                                               {"SLURM_ARRAY_TASK_ID", "3"},
                                               {"SLURM_ARRAY_TASK_COUNT", "3"},
                                               {"SLURM_ARRAY_TASK_MIN", "1"},
                                               {"SLURM_ARRAY_TASK_MAX", "5"},
                                               {"SLURM_ARRAY_TASK_STEP", "2"},
                                               {"MASTER_PORT", "6000"},
                                               {"DET_LAUNCH", "script"},
                                               {"DET_EXPERIMENT_ID", "7"}})
        BOOST_TEST(environment.find(name).value_or("none") == value, name);
    for (auto const* name : {"MASTER_ADDR", "DET_SPANK", "PYTHONUNBUFFERED", "TORCH_FR_DUMP_TEMP_FILE"})
        BOOST_TEST(!environment.find(name), name);
    BOOST_TEST(!environment.find("SLURM_SUBMIT_DIR"));
    job.spec.batch_script->array_task_ids.clear();
    job.spec.batch_script->submit_directory = "/home/me/first";
    auto resubmitted = of_job;
    resubmitted.set("SLURM_SUBMIT_DIR", "/elsewhere");
    BOOST_TEST(make_run_environment(job, plan, resubmitted).find("SLURM_SUBMIT_DIR").value_or("") ==
               "/home/me/first");
    for (auto const& variable : make_run_environment(job, plan, of_job).to_list())
        BOOST_TEST(!variable.starts_with("SLURM_ARRAY_"), variable);
}

BOOST_AUTO_TEST_CASE(scontrol_shows_the_users_script_as_the_command_of_the_job) {
    TemporaryDirectory directory;
    auto const run_dir = directory / "run";
    must(make_directories(directory / "slurm"));
    must(make_directory(run_dir));
    // Slurm's scontrol: prints its arguments and a job, and fails.
    must(write_file(directory / "slurm/scontrol",
                    "#!/bin/sh\n[ \"$1\" = --version ] && exec echo slurm-wlm $VERSION.8\n"
                    "echo \"<$@>\"; echo trouble >&2\n"
                    "printf '   Command=/det/e/7/script.sbatch\\n   WorkDir=/home/me\\n\\n'; exit 3\n",
                    0755));
    Environment environment(
        {{"PATH", (directory / "slurm").string() + ":/usr/bin:/bin"}, {"VERSION", "22.05"}});
    launch::node::use_scontrol_filter(environment, run_dir);
    BOOST_TEST(environment.find("PATH").value().starts_with((directory / "slurm").string()));
    must(launch::node::write_scontrol_filter(run_dir,
                                             {"/det/e/7/script.sbatch", "/home/me/a&b's/job.sbatch", "3"}));
    launch::node::use_scontrol_filter(environment, run_dir);
    auto const scontrol = [&](std::string const& arguments) {
        return must(SystemProcessRunner().run({{"/bin/sh", "-c", "scontrol " + arguments}, environment}));
    };
    auto const shown = scontrol("show job 12");
    BOOST_TEST(shown.out == "<show job 12>\n   Command=/home/me/a&b's/job.sbatch 3\n   WorkDir=/home/me\n\n");
    BOOST_TEST(shown.err == "trouble\n");
    BOOST_TEST(shown.exit_code == 3);
    for (auto const* words : {"-o show job", "show -d job 12", "show jobid=12"})
        BOOST_TEST(scontrol(words).out.find("=/home/me/a&b's") != std::string::npos, words);
    for (auto const* later : {"24.05", "26.05"}) {
        environment.set("VERSION", later);
        BOOST_TEST(scontrol("show job 12").out.find("Command=/home/me/a&b's/job.sbatch\n") !=
                   std::string::npos);
    }
    environment.set("VERSION", "23.02");
    BOOST_TEST(scontrol("show job 12").out.find("/job.sbatch 3\n") != std::string::npos);
    auto const requeued = scontrol("requeue 12");
    BOOST_TEST(requeued.out.find("Command=/det/e/7/script.sbatch") != std::string::npos);
    BOOST_TEST(requeued.exit_code == 3);
}

BOOST_AUTO_TEST_CASE(a_task_of_the_scripts_array_is_a_trial) {
    auto spec = batch_job().spec;
    spec.launch = Launch::script;
    BOOST_TEST(must(trial_of_task(spec, 4)) == 4u);
    spec.batch_script = BatchScriptSpec{"", {1, 3, 5}};
    BOOST_TEST(must(trial_of_task(spec, 5)) == 2u);
    BOOST_TEST(trial_of_task(spec, 2).error().code.name == codes::no_such_trial.name);
}

BOOST_AUTO_TEST_CASE(a_signal_for_the_steps_is_no_warning_to_the_script) {
    using namespace std::chrono_literals;
    BOOST_TEST(!find_warning_time({"--time=10"}));
    BOOST_TEST(!find_warning_time({"--signal=USR1@90"}));
    BOOST_TEST((find_warning_time({"--signal=B:USR1@90"}) == 90s));
    BOOST_TEST((find_warning_time({"--signal=B:USR1"}) == 60s));
    BOOST_TEST(!find_warning_time({"--signal=B:USR1@90", "--signal=USR1"}));
}

/// A script that has run by itself in the fixture, with a process in place of the wrapper.
struct ScriptJob : SupervisorFixture {
    BatchJob job = batch_job();
    std::string const text = "#!/bin/bash\nsbatch job.sbatch\n";

    ScriptJob() {
        job.spec.launch = Launch::script;
        job.spec.has_default_max_restarts = true;
        job.spec.batch_script = BatchScriptSpec{root.path()};
        must(write_file(experiment.batch_script(), text, 0700));
        job.spec.entrypoint = {"/bin/bash", experiment.batch_script(), "one"};
        slurm.job->end_time.reset();
        slurm.job->state = slurm::JobState::running;
    }
    /// \param wrapper a shell script in place of det-wrap-rank
    int supervise_script(std::string const& wrapper) {
        must(write_file(root / "wrapper", "#!/bin/sh\n" + wrapper, 0755));
        return must(supervise_trials(
            job, {slurm, clock, Environment::of_this_process(), root / "wrapper",
                  [](std::string const& line) { BOOST_TEST_MESSAGE(line); }, end_process, output()}));
    }
    void add_successor(slurm::JobState state = slurm::JobState::pending,
                       std::string const& command = "/home/me/job.sbatch one") {
        slurm::JobStatus successor;
        successor.ref = {200, {}};
        successor.state = state;
        successor.submit_time = clock.now();
        slurm.other_jobs = {successor};
        slurm.scripts[200] = {text + '\0', command, "n1", 0};
    }
    bool was_called(std::string const& call) const {
        return std::ranges::find(slurm.calls, call) != slurm.calls.end();
    }
};

BOOST_FIXTURE_TEST_CASE(the_exit_code_of_a_script_is_the_jobs_and_it_is_not_restarted, ScriptJob) {
    BOOST_TEST(supervise_script("echo \"$@\" >\"$DET_ROOT/argv\"; exit 7") == 7);
    BOOST_TEST((end_of(0).cause == Cause::failed));
    BOOST_TEST(end_of(0).exit_code == 7);
    BOOST_TEST(must(read_file(root / "argv")) == fmt::format("--script {0} /bin/bash {1}/slurm_script one\n",
                                                             root.path().string(),
                                                             experiment.path().string()));
}

BOOST_FIXTURE_TEST_CASE(a_script_that_is_restarted_leaves_no_steps, ScriptJob) {
    job.spec.has_default_max_restarts = false;
    job.spec.max_restarts = 1;
    BOOST_TEST(supervise_script("exit 7") == 7);
    BOOST_TEST((end_of(0).next_action == NextAction::restart_in_place));
    BOOST_TEST((end_of(1).next_action == NextAction::stop));
    BOOST_TEST(was_called("cancel-steps 123_0"));
}

BOOST_FIXTURE_TEST_CASE(a_waiting_successor_is_replaced_by_a_requeue_of_this_job, ScriptJob) {
    add_successor();
    BOOST_TEST(supervise_script("exit 0") == 0);
    BOOST_TEST(was_called("cancel 200"));
    BOOST_TEST((end_of(0).cause == Cause::preempted));
    BOOST_TEST(end_of(0).message.find("job 200") != std::string::npos, end_of(0).message);
    BOOST_TEST(was_requeued_after(0));
}

BOOST_FIXTURE_TEST_CASE(a_successor_that_does_something_else_interrupts_the_trial, ScriptJob) {
    add_successor(slurm::JobState::pending, "/home/me/job.sbatch two");
    BOOST_TEST(supervise_script("exit 0") == 0);
    BOOST_TEST(!was_called("cancel 200"));
    BOOST_TEST((end_of(0).cause == Cause::interrupted));
    BOOST_TEST(end_of(0).message.find("job 200") != std::string::npos, end_of(0).message);
}

BOOST_FIXTURE_TEST_CASE(a_job_that_others_have_submitted_is_no_successor, ScriptJob) {
    add_successor();
    slurm.scripts[200].submit_host = "login";
    BOOST_TEST(supervise_script("exit 0") == 0);
    BOOST_TEST((end_of(0).cause == Cause::finished));
}

BOOST_FIXTURE_TEST_CASE(a_process_of_the_batch_scripts_session_may_have_submitted_the_successor, ScriptJob) {
    // slurmctld may know the node by another name.
    OwnScript const own{text, "one"};
    BOOST_TEST(is_successor({text, "", "ctl", 942}, own, {"n[0-1]", 942}));
    BOOST_TEST(!is_successor({text, "", "ctl", 943}, own, {"n[0-1]", 942}));
    BOOST_TEST(!is_successor({text, "", "login", 0}, own, {"n[0-1]", 0}));
}

BOOST_FIXTURE_TEST_CASE(another_script_that_a_script_submits_is_no_successor, ScriptJob) {
    add_successor();
    slurm.scripts[200] = {"#!/bin/bash\necho evaluation\n", "/home/me/evaluate.sbatch", "n1", 0};
    BOOST_TEST(supervise_script("exit 0") == 0);
    BOOST_TEST((end_of(0).cause == Cause::finished));
    BOOST_TEST(!was_called("cancel 200"));
}

BOOST_FIXTURE_TEST_CASE(a_successor_with_variables_of_its_own_is_not_replaced, ScriptJob) {
    OwnScript const own{"#!/bin/bash\nsbatch --export=ALL,STEP=2 job.sbatch\n", "one"};
    slurm::JobStatus waiting;
    waiting.state = slurm::JobState::pending;
    BOOST_TEST(!is_replaceable(waiting, {own.text, "job.sbatch one", "n0", 0}, own));
    BOOST_TEST(is_replaceable(waiting, {"#!/bin/bash\nsbatch job.sbatch\n", "job.sbatch one", "n0", 0},
                              {"#!/bin/bash\nsbatch job.sbatch\n", "one"}));
}

BOOST_AUTO_TEST_SUITE_END()
