// The supervisor with a Slurm that we play, and steps that are real processes.
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/array_job.hpp>
#include <det/supervisor/resume_point.hpp>
#include <det/supervisor/run_environment.hpp>
#include <det/supervisor/supervise.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <sys/stat.h>

#include "check_result.hpp"
#include "fake_clock.hpp"
#include "fake_slurm.hpp"
#include "golden.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::supervisor;
using slurm::JobState;

namespace {

/// A root with experiment 7, a running job 123_0 of it, and a program `srun` that does what a test says.
struct Fixture {
    TemporaryDirectory root;
    ExperimentLayout experiment{RootLayout(root.path()), {7}};
    FakeSlurm slurm;
    FakeClock clock;
    std::vector<std::string> said;
    std::string path_before = std::getenv("PATH");

    Fixture() {
        must(make_directories(experiment.trial(0).path()));
        must(journal::write_desired(root / "pause", Desired::pause));  // for steps to copy
        slurm.job = slurm::JobStatus{};
        slurm.job->ref = {123, 0};
        slurm.job->state = JobState::running;
        slurm.job->batch_host = "n0";
        slurm.job->end_time = UtcTime{1};
        ::setenv("PATH", (root.path().string() + ":" + path_before).c_str(), 1);
    }
    ~Fixture() { ::setenv("PATH", path_before.c_str(), 1); }

    /// A step whose chief says that it has saved everything, once it has done that.
    void acknowledging_step(std::string const& script) {
        must(make_directories(root / "ack"));
        auto chief = must(journal::JournalWriter::create(root / "ack/journal"));
        must(chief.append(PreemptionAcknowledged{UtcTime{1}}));
        step_is("trap '' USR2\n" + script + "\ncp '" + (root / "ack/journal").string() +
                "' \"$DET_RUN_PATH/journal\"");
    }
    void step_is(std::string const& script) { must(write_file(root / "srun", "#!/bin/sh\n" + script, 0755)); }

    Assignment assignment() const {
        Assignment a{experiment, {}, 0, {123, 0}, {0, "n0"}, "n[0-1]", 8, 64000, "loopback", "compute"};
        a.spec.id = {7};
        a.spec.root = root.path();
        a.spec.shape = {2, 4, SlotType::cuda};
        a.spec.launch = Launch::rank;
        a.spec.max_restarts = 2;
        a.spec.searcher.name = "single";
        a.spec.checkpoint_path = root / "checkpoints";
        a.spec.entrypoint = {"sh", "-c", "./train 'a b'"};
        a.spec.environment_variables = {"MINE=a=b", "DET_SPANK=off", "EMPTY"};
        return a;
    }
    /// Two trials at a time share the job.
    Assignment packed_assignment(std::uint32_t trials) const {
        auto a = assignment();
        a.spec.searcher = {"random", "loss", true, Json{{"max_trials", trials}}};
        a.spec.trial_count = trials;
        a.spec.lanes = 2;
        return a;
    }
    std::filesystem::path output() const { return root / "output"; }
    int supervise() { return supervise(assignment()); }
    int supervise(Assignment const& what) {
        return must(
            supervise_trials(what, {slurm, clock, Environment::of_this_process(), "/opt/det-wrap-rank",
                                    [this](std::string const& line) {
                                        said.push_back(line);
                                        BOOST_TEST_MESSAGE(line);
                                    },
                                    output()}));
    }
    RunEnded end_of(std::uint32_t run) const {
        auto const life = must(journal::load_journal(experiment.trial(0).run(run).life()));
        return last_of<RunEnded>(life.records).value();
    }
    /// Slurm has taken the job back after that run.
    bool was_queued_after(std::uint32_t run) const {
        auto const life = must(journal::load_journal(experiment.trial(0).run(run).life()));
        return last_of<QueuedAgain>(life.records).has_value();
    }
    template <class Kind>
    static std::optional<Kind> last_of(std::vector<Record> const& records) {
        std::optional<Kind> last;
        for (auto const& record : records) {
            if (auto const* found = std::get_if<Kind>(&record)) last = *found;
        }
        return last;
    }
    std::string run_path(int run) const {
        return experiment.trial(0).run(static_cast<std::uint32_t>(run)).path();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(supervisor_test, Fixture)

BOOST_AUTO_TEST_CASE(a_step_that_ends_well_finishes_the_trial) {
    step_is("exit 0");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
    BOOST_TEST(!was_queued_after(0));
    auto const life = must(journal::load_journal(experiment.trial(0).run(0).life()));
    auto const& started = std::get<RunStarted>(life.records.at(0));
    BOOST_TEST(started.job == "123_0");
    BOOST_TEST(started.hosts == "n[0-1]");
}

BOOST_AUTO_TEST_CASE(a_step_that_fails_is_run_again_in_place_until_its_restarts_are_used_up) {
    step_is("exit 3");
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(0).follow) == "restart-in-place");
    BOOST_TEST(to_string(end_of(1).follow) == "restart-in-place");
    BOOST_TEST(to_string(end_of(2).follow) == "stop");
    BOOST_TEST(end_of(2).exit_code == 3);
    BOOST_TEST(!path_exists(run_path(3)));
}

BOOST_AUTO_TEST_CASE(a_failure_that_heals_finishes_with_the_restarts_counted) {
    step_is("[ \"$DET_TRIAL_RUN_ID\" = 1 ]");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "failed");
    BOOST_TEST(to_string(end_of(1).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(an_acknowledged_preemption_is_requeued_by_its_full_name) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "preempted");
    BOOST_TEST(was_queued_after(0));
    BOOST_TEST(slurm.calls == (std::vector<std::string>{"find 123_0", "find 123_0",
                                                        "requeue-incomplete 123_0", "start 123_0"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_requeue_that_slurm_refuses_is_told_and_ends_the_trial) {
    step_is("exit 143");
    slurm.job->preempt_time = UtcTime{1};
    slurm.refuses_requeue = true;
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(0).follow) == "stop");
    BOOST_TEST(end_of(0).message.find("could not be queued again") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(where_slurm_refuses_to_requeue_a_job_another_takes_its_place) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    slurm.refuses_requeue = true;
    must(make_directories(experiment.events()));
    must(journal::append_event(experiment.events(),
                               {"created", UtcTime{1}, "me@login", jobs_body({{123, 0, 4, 1, 2}})}));
    auto a = assignment();
    a.spec.owner = "me";
    a.spec.sbatch_options = {"--partition=compute", "--comment=det:7"};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).follow) == "requeue");
    BOOST_TEST(end_of(0).message.ends_with("; Slurm does not queue it again: job 4711 takes its place"),
               end_of(0).message);
    BOOST_REQUIRE(slurm.submissions.size() == 1u);
    BOOST_TEST(slurm.submissions[0].script == experiment.script());
    BOOST_TEST(slurm.submissions[0].options == (std::vector<std::string>{"--hold", "--partition=compute",
                                                                         "--comment=det:7", "--array=0"}),
               boost::test_tools::per_element());
    BOOST_TEST(slurm.calls.back() == "release 4711");
    auto const arrays = array_jobs_of(must(journal::load_events(experiment.events())));
    BOOST_TEST(find_array_of(arrays, 0)->job == 4711u);
    BOOST_TEST(find_array_of(arrays, 1)->job == 123u);
}

BOOST_AUTO_TEST_CASE(a_job_that_was_cancelled_meanwhile_has_no_successor) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    slurm.refuses_requeue = true;
    must(make_directories(experiment.events()));
    must(journal::append_event(experiment.events(),
                               {"created", UtcTime{1}, "me@login", jobs_body({{123, 0, 4, 1}})}));
    int asked = 0;
    slurm.on_call = [&](std::string const& call) {
        if (call == "find 123_0" && ++asked == 3) slurm.job->state = JobState::canceled;
    };
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(slurm.submissions.empty());
    BOOST_TEST(to_string(end_of(0).follow) == "stop");
}

BOOST_AUTO_TEST_CASE(a_slurmctld_that_is_silent_to_the_end_leaves_an_interrupted_run) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    slurm.on_call = [&](std::string const& call) {
        if (call.starts_with("requeue")) slurm.is_down = true;
    };
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(0).cause) == "interrupted");
    BOOST_TEST(to_string(end_of(0).follow) == "left-to-slurm");
    BOOST_TEST(end_of(0).message.ends_with("; slurmctld does not answer"), end_of(0).message);
}

BOOST_AUTO_TEST_CASE(a_cancelled_job_is_recorded_before_slurm_kills_the_supervisor_too) {
    // The notice comes to the supervisor, as Slurm sends it; the step does not care.
    step_is("kill -TERM $PPID; exec sleep 1");
    slurm.job->state = JobState::completing;
    class JumpingClock final : public Clock {
    public:
        UtcTime now() const override { return {1}; }
        std::chrono::steady_clock::time_point steady_now() const override {
            return std::chrono::steady_clock::time_point(std::chrono::seconds(10 * ++asked_));
        }
        void sleep_for(std::chrono::milliseconds) override {}

    private:
        mutable int asked_ = 0;
    } jumping;
    auto const a = assignment();
    auto const result = supervise_trials(
        a, {slurm, jumping, Environment::of_this_process(), "/x", [](std::string const&) {}});
    BOOST_TEST(must(result) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "canceled");
    BOOST_TEST(std::ranges::count(slurm.calls, "find 123_0") == std::ssize(slurm.calls));
}

BOOST_AUTO_TEST_CASE(a_run_that_was_superseded_writes_nothing_more) {
    step_is("exit 1");
    slurm.job->batch_host = "n3";
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(must(journal::load_journal(experiment.trial(0).run(0).life())).records.size() == 1u);
    BOOST_TEST(std::ranges::count(slurm.calls, "find 123_0") == std::ssize(slurm.calls));
}

BOOST_AUTO_TEST_CASE(a_trial_that_is_not_wanted_is_not_begun) {
    step_is("exit 1");
    must(journal::write_desired(experiment.desired(), Desired::cancel));
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(!path_exists(run_path(0)));
}

BOOST_AUTO_TEST_CASE(without_srun_the_trial_says_so) {
    ::setenv("PATH", "/nowhere", 1);
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(0).cause) == "not-launched");
}

BOOST_AUTO_TEST_CASE(while_slurmctld_is_silent_a_finished_trial_is_finished) {
    step_is("exit 0");
    slurm.is_down = true;
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(a_pause_asks_the_ranks_and_holds_the_job_once_they_have_saved) {
    acknowledging_step(R"(cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/desired"; kill -USR2 $PPID
        while [ ! -e "$DET_RUN_PATH/asked" ]; do sleep 0.01; done)");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "paused");
    BOOST_TEST(to_string(end_of(0).follow) == "requeue-held");
    BOOST_TEST(slurm.calls.back() == "requeue-held 123_0");
}

BOOST_AUTO_TEST_CASE(who_does_not_stop_in_time_is_killed_and_held_all_the_same) {
    // srun ends its step when it gets TERM; this one has only itself to end.
    step_is(R"(trap 'exit 143' TERM; trap '' USR2
        cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/desired"; kill -USR2 $PPID
        while :; do sleep 0.01; done)");
    auto a = assignment();
    a.spec.preemption_timeout_s = 0;
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).follow) == "requeue-held");
    BOOST_TEST(end_of(0).message.find("did not stop in time") != std::string::npos, end_of(0).message);
}

BOOST_AUTO_TEST_CASE(a_trial_that_waits_for_its_activation_is_not_begun_and_its_job_is_held) {
    step_is("exit 1");
    must(journal::write_desired(experiment.desired(), Desired::pause));
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(!path_exists(run_path(0)));
    BOOST_TEST(slurm.calls.back() == "requeue-held 123_0");
}

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
    BOOST_TEST(to_string(end_of(0).follow) == "stop");
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
    BOOST_TEST(to_string(end_of(0).follow) == "restart-in-place");
    BOOST_TEST(must(read_file(run_path(1) + "/argv")).find("--nodelist=n[0,2]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_node_on_which_srun_can_start_nothing_is_no_failure_of_the_trainer) {
    step_is("echo x >\"$DET_RUN_PATH/node-0.log\"; exit 233");
    for (std::uint32_t run = 0; run < 5; ++run) {
        BOOST_TEST(supervise() == 0);
        BOOST_TEST(to_string(end_of(run).cause) == "node-failed");
        BOOST_TEST(to_string(end_of(run).follow) == "requeue");
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
        BOOST_TEST(to_string(end_of(run).follow) == "requeue");
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
    must(make_directories(experiment.events()));
    must(journal::append_event(experiment.events(),
                               {"created", UtcTime{1}, "me@login", jobs_body({{123, 0, 4, 1}})}));
    step_is("echo x >\"$DET_RUN_PATH/node-0.log\"; exit 233");
    auto a = assignment();
    a.spec.owner = "me";
    a.spec.sbatch_options = {"--partition=compute"};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "node-failed");
    BOOST_TEST(end_of(0).message.ends_with("; queued again (as job 4711)"), end_of(0).message);
    BOOST_TEST(slurm.calls.back() == "release 4711");
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
    BOOST_TEST(to_string(end_of(0).follow) == "requeue");
    BOOST_TEST(std::ranges::count(slurm.calls, "change 123_0 exclude=n7,n1") == 1);
    // Where too few are left there is nothing to wait for.
    must(remove_tree(run_path(0)));
    slurm.node_list.pop_back();
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_of(0).message.find("not enough nodes") != std::string::npos, end_of(0).message);
}

BOOST_AUTO_TEST_CASE(lanes_run_all_trials_of_their_share_and_those_that_nobody_else_took) {
    step_is("exit 0");
    auto a = packed_assignment(5);
    a.first_trial = 2;
    must(make_directories(experiment.trial(4).path()));
    must(write_file(experiment.trial(4).claimed(), "123_2\n"));
    BOOST_TEST(supervise(a) == 0);
    for (std::uint32_t trial = 0; trial < 5; ++trial) {
        BOOST_TEST(path_exists(experiment.trial(trial).run(0).life()) == (trial != 4), trial);
        BOOST_TEST(must(read_file(experiment.trial(trial).claimed())) ==
                   (trial == 4 ? "123_2\n" : "123_0\n"));
    }
}

BOOST_AUTO_TEST_CASE(in_a_continued_experiment_lanes_run_what_was_reopened_and_nothing_else) {
    step_is("exit 0");
    auto a = packed_assignment(3);
    BOOST_TEST(supervise(a) == 0);
    a.spec.revisions = {{1, {{1, 1}}}};
    a.experiment = experiment.at(1);
    must(make_directories(a.experiment.own_path()));
    BOOST_TEST(supervise(a) == 0);
    for (std::uint32_t trial = 0; trial < 3; ++trial)
        BOOST_TEST(path_exists(experiment.trial(trial).run(1).life()) == (trial == 1), trial);
    BOOST_TEST(must(read_file(a.experiment.trial(1).claimed())) == "123_0\n");
}

BOOST_AUTO_TEST_CASE(a_lane_that_is_paused_leaves_its_trial_and_the_others_go_on) {
    acknowledging_step(R"([ "$DET_TRIAL_ID" = 7000001 ] || exit 0
        cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/trials/1/desired"; kill -USR2 $PPID
        while [ ! -e "$DET_RUN_PATH/asked" ]; do sleep 0.01; done)");
    auto a = packed_assignment(4);
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(!path_exists(experiment.trial(1).claimed()));
    BOOST_TEST(path_exists(experiment.trial(3).run(0).life()));
    BOOST_TEST(std::ranges::count(slurm.calls, "requeue-held 123_0") == 0);
}

BOOST_AUTO_TEST_CASE(one_requeue_serves_all_lanes_and_its_next_incarnation_has_their_trials) {
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
        BOOST_TEST(path_exists(experiment.trial(trial).run(1).life()), trial);
}

BOOST_AUTO_TEST_CASE(after_a_run_that_was_lost_with_its_node_steps_have_other_numbers) {
    step_is(R"(echo "$*" >>"$DET_ROOT/steps"; exit 0)");
    auto const lost = experiment.trial(0).run(0);
    must(make_directories(lost.path()));
    auto life = must(journal::JournalWriter::create(lost.life()));
    must(life.append(RunStarted{UtcTime{1}, "123_0", 0, "n0", "n[0-1]", 0, "", 0}));
    auto a = assignment();
    a.incarnation.restart_count = slurm.job->restarts = 1;
    ::setenv("DET_ROOT", root.path().c_str(), 1);
    BOOST_TEST(supervise(a) == 0);
    ::unsetenv("DET_ROOT");
    auto const lines = split_lines(must(read_file(root / "steps")));
    BOOST_REQUIRE(lines.size() == 17u);
    BOOST_TEST(lines.back().find("--job-name=7.0.1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_run_begins_at_the_newest_checkpoint_that_is_there) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    std::vector<std::string> uuids;
    for (std::uint32_t number = 0; number < 3; ++number) {
        auto const run = experiment.trial(0).run(number);
        must(make_directories(run.path()));
        auto chief = must(journal::JournalWriter::create(run.journal()));
        auto const& uuid = uuids.emplace_back(make_uuid());
        must(store.begin(uuid));
        must(store.commit({uuid, "7.0", 100 * (number + 1), {}, 1, Json::object()},
                          [] { return Status(Ok{}); }));
        must(chief.append(CheckpointCommitted{UtcTime{1}, uuid, 100 * (number + 1), {}, {}}));
    }
    auto const newest = must(find_resume_point(experiment.trial(0), {0, 3}, store));
    BOOST_TEST(newest.checkpoint == uuids[2]);
    BOOST_TEST(newest.steps_completed == 300u);
    // The chief was killed between two lines: the one that names a checkpoint, and its word that it is there.
    auto const untold = make_uuid(), never = make_uuid();
    auto const last = experiment.trial(0).run(3);
    must(make_directories(last.path()));
    auto chief = must(journal::JournalWriter::create(last.journal()));
    must(chief.append(CheckpointBegun{UtcTime{1}, untold, 400}));
    must(chief.append(CheckpointBegun{UtcTime{2}, never, 500}));
    must(store.begin(untold));
    must(store.commit({untold, "7.0", 400, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    auto const found = must(find_resume_point(experiment.trial(0), {0, 4}, store));
    BOOST_TEST(found.checkpoint == untold);
    BOOST_TEST(found.steps_completed == 400u);
    // One that was deleted since is passed over.
    must(remove_tree(store.path_of(uuids[2])));
    BOOST_TEST(must(find_resume_point(experiment.trial(0), {0, 3}, store)).checkpoint == uuids[1]);
}

BOOST_AUTO_TEST_CASE(failures_from_before_a_continuation_are_forgotten_and_checkpoints_are_not) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    auto const uuid = make_uuid();
    must(store.begin(uuid));
    must(store.commit({uuid, "7.0", 100, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    for (std::uint32_t number = 0; number < 3; ++number) {
        auto const run = experiment.trial(0).run(number);
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.life()));
        must(life.append(RunStarted{}));
        must(life.append(RunEnded{{}, Cause::failed, Follow::stop, 1, "", "n1"}));
        if (number > 0) continue;
        auto chief = must(journal::JournalWriter::create(run.journal()));
        must(chief.append(CheckpointCommitted{UtcTime{1}, uuid, 100, {}, {}}));
    }
    auto const counted = must(find_resume_point(experiment.trial(0), {2, 3}, store));
    BOOST_TEST(counted.restarts == 1u);
    BOOST_TEST(counted.failures_without_progress == 1u);
    BOOST_TEST(counted.checkpoint == uuid);
    auto const continued = must(find_resume_point(experiment.trial(0), {3, 3}, store));
    BOOST_TEST(continued.restarts == 0u);
    BOOST_TEST(continued.bad_hosts.empty());
    BOOST_TEST(continued.steps_completed == 100u);
    BOOST_TEST(must(has_ended(experiment.trial(0), 2)));
    BOOST_TEST(!must(has_ended(experiment.trial(0), 3)));
}

BOOST_AUTO_TEST_CASE(tasks_get_ours_over_the_users_over_the_jobs_environment) {
    Environment const job({{"PATH", "/bin"},
                           {"SLURM_JOB_ID", "125"},
                           {"MINE", "old"},
                           {"SLURM_NTASKS", "2"},
                           {"DET_WRAPPED", "1.0.0"}});
    RunPlan const run{{{{7}, 0}, 2}, {1, "0a1b2c3d-0000-4000-8000-000000000000", 500}, "n[0-1]", 99, 12345};
    auto const environment = make_run_environment(assignment(), run, job);
    std::string shown;
    for (auto const& variable : environment.to_list()) {
        auto text = variable;
        for (auto at = text.find(root.path()); at != std::string::npos; at = text.find(root.path())) {
            text.replace(at, root.path().string().size(), "/ROOT");
        }
        std::string const build = DET_BINARY_DIR "/";
        if (auto const at = text.find(build); at != std::string::npos)
            text.replace(at, build.size(), "BUILD/");
        shown += text + "\n";
    }
    check_golden("run_environment.txt", shown);
}

BOOST_AUTO_TEST_CASE(the_step_runs_the_wrapper_on_every_slot_or_on_every_node) {
    auto a = assignment();
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    BOOST_TEST(make_step_request(a, run, "/opt/w").command ==
                   (std::vector<std::string>{"/opt/w", "SLURM_PROCID", "sh", "-c", "./train 'a b'"}),
               boost::test_tools::per_element());
    a.spec.launch = Launch::node;
    BOOST_TEST(make_step_request(a, run, "/opt/w").command.at(1) == "--node");
    BOOST_TEST(!make_step_request(a, run, "/opt/w").share);
    BOOST_TEST(make_step_request(a, run, "/opt/w").hosts.empty());
    // Where trials share a node each has its share of it, and of nodes to spare some are named.
    a.spec.lanes = 4;
    a.spec.spare_nodes = 1;
    auto const lane = make_step_request(a, run, "/opt/w");
    BOOST_TEST(lane.cpus_per_node == 2);
    BOOST_TEST(lane.share.value().memory_mib == 16000);
    BOOST_TEST(lane.hosts == "n[0-1]");
}

BOOST_AUTO_TEST_CASE(a_startup_hook_is_sourced_before_the_entrypoint_and_its_failure_is_the_runs) {
    must(make_directories(root / "work"));
    auto a = assignment();
    a.spec.entrypoint = {"sh", "-c", "echo \"$FROM_HOOK $0\" >out", "a b"};
    RunPlan const run{{{{7}, 0}, 0}, {}, "n0", 0, 0};
    auto const has_hook = [&](bool there) {
        a.spec.context = ContextSpec{"x", 1, there};
        auto const command = make_step_request(a, run, "/opt/w").command;
        return std::find(command.begin(), command.end(), "startup-hook") != command.end();
    };
    BOOST_TEST(!has_hook(false));
    BOOST_TEST(has_hook(true));
    auto command = make_step_request(a, run, "/opt/w").command;
    command.erase(command.begin(), command.begin() + 2);  // the wrapper
    auto environment = Environment::of_this_process();
    environment.set("DET_RUN_DIR", root.path());
    SystemProcessRunner runner;
    auto const go = [&](std::string const& hook) {
        must(write_file(root / "work/startup-hook.sh", hook));
        std::vector<std::string> argv{"env", "--chdir", root / "work"};
        argv.insert(argv.end(), command.begin(), command.end());
        return must(runner.run({argv, environment})).exit_code;
    };
    BOOST_TEST(go("export FROM_HOOK=yes\n(sleep 0)\n") == 0);
    BOOST_TEST(must(read_file(root / "work/out")) == "yes a b\n");
    must(remove_tree(root / "work/out"));
    BOOST_TEST(go("false\necho never\n") == 1);
    BOOST_TEST(!path_exists(root / "work/out"));
}

BOOST_AUTO_TEST_CASE(outside_of_a_job_it_is_said_what_this_program_is_for) {
    must(write_file(experiment.spec(), render_spec(assignment().spec)));
    auto const error = must_fail(load_assignment(experiment.path(), 0, Environment()));
    BOOST_TEST((error.code == codes::not_in_slurm));
    BOOST_TEST((must_fail(load_assignment(root / "absent", 0, Environment())).code == codes::no_such_file));
    BOOST_TEST(
        (must_fail(load_assignment(experiment.path(), 1, Environment())).code == codes::no_such_trial));
}

BOOST_AUTO_TEST_CASE(the_assignment_is_what_slurm_says_of_a_batch_job) {
    must(write_file(experiment.spec(), render_spec(assignment().spec)));
    Environment const job({{"SLURM_JOB_ID", "130"},
                           {"SLURM_ARRAY_JOB_ID", "123"},
                           {"SLURM_ARRAY_TASK_ID", "0"},
                           {"SLURM_JOB_NODELIST", "n[0-1]"},
                           {"SLURM_JOB_CPUS_PER_NODE", "8,6"},
                           {"SLURMD_NODENAME", "n0"},
                           {"SLURM_RESTART_COUNT", "3"},
                           {"SLURM_CLUSTER_NAME", "loopback"}});
    auto const a = must(load_assignment(experiment.path(), 0, job));
    BOOST_TEST(slurm::to_string(a.job) == "123_0");
    BOOST_TEST(a.incarnation.restart_count == 3u);
    BOOST_TEST(a.cpus_per_node == 6);
}

BOOST_FIXTURE_TEST_CASE(a_container_is_begun_below_the_wrapper_and_by_srun_where_pyxis_makes_it, Fixture) {
    auto a = assignment();
    a.spec.launch = Launch::node;
    a.spec.container = ContainerSpec{};
    a.spec.container->runtime = ContainerRuntime::podman;
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    auto const podman = make_step_request(a, run, "/opt/bin/det-wrap-rank");
    BOOST_TEST(join(podman.command, " ") ==
               "/opt/bin/det-wrap-rank --node /opt/bin/det-launch contain sh -c ./train 'a b'");
    a.spec.container->runtime = ContainerRuntime::pyxis;
    a.spec.container->image = "ubuntu";
    auto const line = join(slurm::render_srun(make_step_request(a, run, "/opt/bin/det-wrap-rank")), " ");
    BOOST_TEST(line.find(" --container-image=ubuntu --container-mounts=/tmp:/tmp,/opt/bin:/opt/bin:ro,") !=
                   std::string::npos,
               line);
    BOOST_TEST(line.find("contain sh") == std::string::npos, line);
}

BOOST_AUTO_TEST_SUITE_END()
