// How runs end, and what happens to their job.
#include <det/protocol/array_job.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <map>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;
using slurm::JobState;

namespace supervisor_test {

/// A clock that goes on by 10 s each time it is read.
class JumpingClock final : public Clock {
public:
    UtcTime now() const override { return {1}; }
    std::chrono::steady_clock::time_point steady_now() const override {
        return std::chrono::steady_clock::time_point(std::chrono::seconds(10 * ++asked_));
    }
    void sleep_for(std::chrono::milliseconds) override {}

private:
    mutable int asked_ = 0;
};

/// Slurm takes the nodes of the job of a fixture after the supervisor has asked about it for the first time.
/// The file `answered` tells the step when the supervisor has asked again.
struct PreemptionWithoutGrace : SupervisorFixture {
    slurm::JobStatus ending = *slurm.job;

    PreemptionWithoutGrace() {
        ending.state = JobState::completing;
        slurm.on_call = [this, asked = 0](std::string const& call) mutable {
            if (call != "find 123_0") return;
            if (++asked == 1) slurm.job = ending;
            if (asked == 2) must(write_file(root / "answered", ""));
        };
    }
    /// The commands of a step that gets the notice, tells the supervisor, and waits until
    /// Slurm has answered.
    std::string notice_commands() const {
        return ": >\"$DET_RUN_PATH/noticed\"; kill -TERM $PPID\nuntil [ -e '" + (root / "answered").string() +
               "' ]; do sleep 0.01; done";
    }
};

}  // namespace supervisor_test

BOOST_FIXTURE_TEST_SUITE(supervisor_test, SupervisorFixture)

BOOST_AUTO_TEST_CASE(a_successful_step_finishes_the_trial) {
    step_is("exit 0");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
    BOOST_TEST(!was_requeued_after(0));
    auto const life = must(journal::load_journal(experiment.trial(0).run(0).supervisor_journal()));
    auto const& started = std::get<RunStarted>(life.records.at(0));
    BOOST_TEST(started.job == "123_0");
    BOOST_TEST(started.hosts == "n[0-1]");
}

BOOST_AUTO_TEST_CASE(the_jobs_times_are_recorded_once_for_each_run) {
    step_is("[ \"$DET_TRIAL_RUN_ID\" = 1 ]");
    slurm.job->submit_time = UtcTime{3'000'000};
    slurm.job->start_time = UtcTime{5'000'000};
    slurm.job->nodes = 2;
    BOOST_TEST(supervise() == 0);
    for (std::uint32_t const run : {0u, 1u}) {
        auto const life = must(journal::load_journal(experiment.trial(0).run(run).supervisor_journal()));
        BOOST_TEST(std::ranges::count_if(life.records, [](Record const& record) {
                       return std::holds_alternative<JobAllocated>(record);
                   }) == 1);
        auto const allocated = last_of<JobAllocated>(life.records).value();
        BOOST_TEST((allocated.started == UtcTime{5'000'000}));
        BOOST_TEST((allocated.submitted == UtcTime{3'000'000}));
        BOOST_TEST(!allocated.ended);  // what Slurm shows is the end of the time limit
        BOOST_TEST(allocated.nodes == 2u);
    }
}

BOOST_AUTO_TEST_CASE(the_end_of_the_job_is_recorded_if_slurm_has_ended_it) {
    step_is("exit 0");
    slurm.job->state = JobState::completing;
    slurm.job->start_time = UtcTime{5'000'000};
    slurm.job->end_time = UtcTime{9'000'000};
    supervise();
    auto const life = must(journal::load_journal(experiment.trial(0).run(0).supervisor_journal()));
    BOOST_TEST((last_of<JobAllocated>(life.records).value().ended == UtcTime{9'000'000}));
}

BOOST_AUTO_TEST_CASE(the_times_of_another_execution_of_the_job_are_not_recorded) {
    step_is("exit 0");
    slurm.job->restarts = 1;
    slurm.job->start_time = UtcTime{5'000'000};
    supervise();
    auto const life = must(journal::load_journal(experiment.trial(0).run(0).supervisor_journal()));
    BOOST_TEST(!last_of<JobAllocated>(life.records));
}

BOOST_AUTO_TEST_CASE(a_trial_that_has_ended_is_not_begun_again_when_slurm_requeues_its_job) {
    step_is("exit 0");
    BOOST_TEST(supervise() == 0);
    slurm.job->restarts = 1;
    auto again = batch_job();
    again.incarnation.restart_count = 1;
    BOOST_TEST(supervise(again) == 0);
    BOOST_TEST(!path_exists(run_path(1)));
}

BOOST_AUTO_TEST_CASE(a_failed_step_is_restarted_in_place_until_max_restarts) {
    step_is("exit 3");
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(0).next_action) == "restart-in-place");
    BOOST_TEST(to_string(end_of(1).next_action) == "restart-in-place");
    BOOST_TEST(to_string(end_of(2).next_action) == "stop");
    BOOST_TEST(end_of(2).exit_code == 3);
    BOOST_TEST(!path_exists(run_path(3)));
}

BOOST_AUTO_TEST_CASE(a_success_after_failures_counts_the_restarts) {
    step_is("[ \"$DET_TRIAL_RUN_ID\" = 1 ]");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "failed");
    BOOST_TEST(to_string(end_of(1).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(an_acknowledged_preemption_is_requeued_with_its_array_index) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "preempted");
    BOOST_TEST(was_requeued_after(0));
    // The grace period is over, so the step is killed unless it ends earlier. The nodes of a killed step are
    // read.
    std::erase(slurm.calls, "nodes");
    BOOST_TEST(slurm.calls == (std::vector<std::string>{"find 123_0", "find 123_0",
                                                        "requeue-incomplete 123_0", "start 123_0"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_job_that_slurm_may_shorten_gets_its_time_limit_back_when_it_is_queued_again) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    auto job = batch_job();
    job.spec.sbatch_options = {"--time=1:00:00", "--time-min=10", "--time=4:00:00", "--timeout=7"};
    BOOST_TEST(supervise(job) == 0);
    BOOST_TEST(was_requeued_after(0));
    BOOST_REQUIRE(slurm.calls.size() >= 3u);
    BOOST_TEST(slurm.calls.end()[-3] == "requeue-incomplete 123_0");
    BOOST_TEST(slurm.calls.end()[-2] == "change 123_0 time=4:00:00");
    // Without --time-min its limit is that of its user.
    job.spec.sbatch_options = {"--time=4:00:00"};
    BOOST_TEST(supervise(job) == 0);
    BOOST_TEST(std::ranges::count(slurm.calls, "change 123_0 time=4:00:00") == 1);
}

BOOST_AUTO_TEST_CASE(a_time_limit_that_slurm_has_not_shortened_stays_as_it_is) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    auto job = batch_job();
    job.spec.sbatch_options = {"--time-min=10"};
    ::setenv("SLURM_JOB_START_TIME", "1000", 1);
    auto const requests = [&](std::string const& submitted, std::int64_t at_start_s) {
        job.spec.sbatch_options.push_back("--time=" + submitted);
        ::setenv("SLURM_JOB_END_TIME", std::to_string(1000 + at_start_s).c_str(), 1);
        slurm.calls.clear();
        BOOST_TEST(supervise(job) == 0);
        return std::ranges::count(slurm.calls, "change 123_0 time=" + submitted);
    };
    for (auto const& [submitted, seconds] : std::map<std::string, std::int64_t>{
             {"240", 14400}, {"240:30", 14430}, {"4:00:00", 14400}, {"1-2", 93600}, {"1-2:03:04", 93784}}) {
        BOOST_TEST(requests(submitted, seconds - 1) == 1, submitted);
        BOOST_TEST(requests(submitted, seconds) == 0, submitted);
        BOOST_TEST(requests(submitted, seconds + 3600) == 0, submitted);
    }
    BOOST_TEST(requests("UNLIMITED", 14400) == 1);
    ::unsetenv("SLURM_JOB_START_TIME");
    ::unsetenv("SLURM_JOB_END_TIME");
}

// Slurm limits the requests of a user (rl_enable): 100 tasks that are preempted at once must be queued again.
BOOST_AUTO_TEST_CASE(a_preempted_task_whose_ranks_have_ended_sends_four_requests) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    slurm.job->end_time = UtcTime{clock.now().microseconds + 600'000'000};
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(was_requeued_after(0));
    BOOST_TEST(slurm.calls == (std::vector<std::string>{"find 123_0", "find 123_0",
                                                        "requeue-incomplete 123_0", "start 123_0"}),
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_task_that_slurm_has_requeued_sends_two_requests,
                        supervisor_test::PreemptionWithoutGrace) {
    ending.end_time.reset();
    ending.restarts = 1;
    step_is(notice_commands() + "\nexit 143");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "preempted");
    BOOST_TEST(to_string(end_of(0).next_action) == "left-to-slurm");
    BOOST_TEST(slurm.calls == (std::vector<std::string>{"find 123_0", "find 123_0", "start 123_0"}),
               boost::test_tools::per_element());
    BOOST_TEST(slurm.start_delay.count() == 5);
}

BOOST_FIXTURE_TEST_CASE(a_task_that_slurm_has_requeued_because_of_a_lost_node_was_not_preempted,
                        supervisor_test::PreemptionWithoutGrace) {
    ending.end_time.reset();
    ending.restarts = 1;
    must(write_file(output(), "srun: error: Node failure on n0\n"));  // of an earlier run
    step_is("echo 'srun: error: Node failure on n1' >>\"$DET_ROOT/output\"\n" + notice_commands() +
            "\nexit 1");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "node-failed");
    BOOST_TEST(to_string(end_of(0).next_action) == "left-to-slurm");
    BOOST_TEST(end_of(0).message == "Slurm has lost node n1, and requeued the job");
    BOOST_TEST(slurm.start_delay.count() == 5);
}

BOOST_FIXTURE_TEST_CASE(words_of_a_program_name_no_lost_node_that_the_run_has_not,
                        supervisor_test::PreemptionWithoutGrace) {
    ending.end_time.reset();
    ending.restarts = 1;
    step_is(
        "printf 'srun: error: Node failure on n7\\nsrun: error: Node failure on n[\\033\\n"
        "srun: error: Cannot communicate with node 2.  Aborting job.\\n"
        "srun: error: Cannot communicate with node -1.\\n' >>\"$DET_ROOT/output\"\n" +
        notice_commands() + "\nexit 1");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "preempted");
}

BOOST_FIXTURE_TEST_CASE(a_task_that_slurm_ends_without_a_requeue_sends_three_requests,
                        supervisor_test::PreemptionWithoutGrace) {
    ending.preempt_time = UtcTime{1};
    acknowledging_step(notice_commands());
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "preempted");
    BOOST_TEST(was_requeued_after(0));
    BOOST_TEST(
        slurm.calls == (std::vector<std::string>{"find 123_0", "find 123_0", "requeue 123_0", "start 123_0"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_task_whose_step_still_runs_starts_after_the_kill_of_slurm) {
    step_is("kill -TERM $PPID; exec sleep 1");
    slurm.job->state = JobState::completing;
    slurm.job->end_time.reset();
    slurm.job->restarts = 1;
    slurm.config = slurm::ClusterConfig(slurm::ClusterConfig::Settings{{"KillWait", "12 sec"}});
    supervisor_test::JumpingClock jumping;
    auto const a = batch_job();
    auto const result = supervise_trials(
        a, {slurm, jumping, Environment::of_this_process(), "/x", [](std::string const&) {}, {}});
    BOOST_TEST(must(result) == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "left-to-slurm");
    BOOST_TEST(slurm.start_delay.count() == 12 + 5);
}

BOOST_AUTO_TEST_CASE(a_preempted_job_is_cancelled_when_its_trial_has_finished) {
    // Slurm 24.11 requeues a job that ends by itself in the grace period.
    step_is("exit 0");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(std::ranges::count(slurm.calls, "cancel 123_0") == 0);
    must(remove_tree(experiment.trial(0).runs()));
    slurm.job->preempt_time = clock.now();
    slurm.job->end_time = UtcTime{clock.now().microseconds + 600'000'000};
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
    BOOST_TEST(slurm.calls.back() == "cancel 123_0");
}

BOOST_AUTO_TEST_CASE(a_job_that_slurm_has_requeued_is_cancelled_only_if_its_trial_does_not_continue) {
    step_is("exit 143");
    slurm.job->state = JobState::completing;
    slurm.job->restarts = 1;
    slurm.job->end_time.reset();
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "left-to-slurm");
    BOOST_TEST(std::ranges::count(slurm.calls, "cancel 123_0") == 0);
    must(remove_tree(experiment.trial(0).runs()));
    must(journal::write_desired(root / "kill", DesiredState::kill));
    step_is("cp '" + (root / "kill").string() + "' '" + experiment.desired().string() + "'");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "canceled");
    BOOST_TEST(std::ranges::count(slurm.calls, "cancel 123_0") == 1);
}

BOOST_AUTO_TEST_CASE(a_requeue_that_slurm_did_not_carry_out_is_noticed) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    slurm.on_call = [&](std::string const& call) {
        if (call != "requeue-incomplete 123_0") return;
        slurm.refused = {"start"};  // Slurm does not change the start of a job that has ended
        slurm.job->state = JobState::canceled;
        slurm.job->state_text = "CANCELLED";
    };
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(!was_requeued_after(0));
    BOOST_TEST(
        end_of(0).message.find("Slurm did not queue the job again: it is CANCELLED") != std::string::npos,
        end_of(0).message);
}

BOOST_AUTO_TEST_CASE(a_start_that_slurm_does_not_change_is_no_failure_while_the_job_is_queued) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    slurm.refused = {"start"};
    slurm.on_call = [&](std::string const& call) {
        if (call == "requeue-incomplete 123_0") slurm.job->state = JobState::pending;
    };
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(was_requeued_after(0));
}

BOOST_AUTO_TEST_CASE(a_refused_requeue_is_reported_and_ends_the_trial) {
    step_is("exit 143");
    slurm.job->preempt_time = UtcTime{1};
    slurm.refuses_requeue = true;
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(0).next_action) == "stop");
    BOOST_TEST(end_of(0).message.find("could not be requeued") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_job_that_slurm_does_not_requeue_is_replaced) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    slurm.refuses_requeue = true;
    must(make_directories(experiment.events()));
    must(journal::append_event(experiment.events(),
                               {"created", UtcTime{1}, "me@login", jobs_body({{123, 0, 4, 1, 2}})}));
    auto a = batch_job();
    a.spec.owner = "me";
    a.spec.sbatch_options = {"--partition=compute", "--comment=det:7"};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "requeue");
    BOOST_TEST(end_of(0).message.ends_with("; Slurm refused to requeue it: job 4711 replaces it"),
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

BOOST_AUTO_TEST_CASE(a_job_that_was_cancelled_meanwhile_is_not_replaced) {
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
    BOOST_TEST(to_string(end_of(0).next_action) == "stop");
}

BOOST_AUTO_TEST_CASE(an_unreachable_slurmctld_leaves_an_interrupted_run) {
    acknowledging_step("");
    slurm.job->preempt_time = UtcTime{1};
    slurm.on_call = [&](std::string const& call) {
        if (call.starts_with("requeue")) slurm.is_down = true;
    };
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(0).cause) == "interrupted");
    BOOST_TEST(to_string(end_of(0).next_action) == "left-to-slurm");
    BOOST_TEST(end_of(0).message.ends_with("; slurmctld does not answer"), end_of(0).message);
}

BOOST_AUTO_TEST_CASE(a_cancelled_job_is_recorded_before_slurm_kills_the_supervisor_too) {
    // The supervisor gets the notice from Slurm; the step ignores it.
    step_is("kill -TERM $PPID; exec sleep 1");
    slurm.job->state = JobState::completing;
    supervisor_test::JumpingClock jumping;
    auto const a = batch_job();
    auto const result = supervise_trials(
        a, {slurm, jumping, Environment::of_this_process(), "/x", [](std::string const&) {}, {}});
    BOOST_TEST(must(result) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "canceled");
    BOOST_TEST(std::ranges::count(slurm.calls, "find 123_0") == std::ssize(slurm.calls));
}

BOOST_AUTO_TEST_CASE(a_run_that_was_superseded_writes_nothing_more) {
    step_is("exit 1");
    slurm.job->batch_host = "n3";
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(must(journal::load_journal(experiment.trial(0).run(0).supervisor_journal())).records.size() ==
               1u);
    BOOST_TEST(std::ranges::count(slurm.calls, "find 123_0") == std::ssize(slurm.calls));
}

// The end of the batch script would end the next execution of the job.
BOOST_AUTO_TEST_CASE(
    an_execution_whose_job_waits_to_run_again_stays_until_slurm_ends_it_or_starts_it_elsewhere) {
    step_is("exit 1");
    slurm.job->state = JobState::pending;
    slurm.job->batch_host = "";
    auto slept = 0;
    clock.on_sleep = [&](std::chrono::milliseconds) {
        ++slept;
        slurm.is_down = slept == 2 || slept == 3;
        if (slept == 4) slurm.job->state = JobState::configuring;
        if (slept < 5) return;
        slurm.job->state = JobState::running;
        slurm.job->batch_host = slept < 8 ? "n0" : "n3";  // its own node, and another one
        slurm.job->restarts = 1;
    };
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(slept == 8);
    BOOST_TEST(std::ranges::count(slurm.calls, "start 123_0") == 1);
    BOOST_TEST(slurm.start_delay.count() == 15);
    BOOST_TEST(std::ranges::count(slurm.calls, "find 123_0") == std::ssize(slurm.calls) - 1);
    BOOST_TEST(std::ranges::count(log_lines,
                                  "the job will run again: this execution stays until Slurm ends it") == 1);
}

BOOST_AUTO_TEST_CASE(a_start_that_slurm_has_forgotten_is_repeated_and_not_ended) {
    step_is("exit 1");
    slurm.job->state = JobState::pending;
    slurm.job->batch_host = "";
    slurm.job->reason = "JobHeldUser";  // Slurm may also have forgotten that the job was released
    auto slept = 0;
    clock.on_sleep = [&](std::chrono::milliseconds) {
        if (++slept != 2) return;
        slurm.job->state = JobState::running;
        slurm.job->batch_host = "n0";  // where this execution runs, and with the same restart count
    };
    auto const begin = clock.steady_now();
    BOOST_TEST(supervise() == 0);
    BOOST_TEST((clock.steady_now() - begin >= 24h));
    BOOST_TEST(std::ranges::count(slurm.calls, "release 123_0") == 1);
    BOOST_TEST(std::ranges::count(slurm.calls, "start 123_0") == 1);
}

BOOST_AUTO_TEST_CASE(a_superseded_execution_does_not_change_a_job_that_slurm_has_requeued_or_the_user_holds) {
    step_is("exit 1");
    slurm.job->state = JobState::pending;
    slurm.job->batch_host = "";
    slurm.job->reason = "JobHeldUser";
    slurm.job->restarts = 1;
    auto slept = 0;
    clock.on_sleep = [&](std::chrono::milliseconds) {
        if (++slept == 4) slurm.job->state = JobState::canceled;
    };
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(slept == 4);
    BOOST_TEST(std::ranges::count(slurm.calls, "find 123_0") == std::ssize(slurm.calls));

    must(remove_tree(run_path(0)));
    must(journal::write_desired(experiment.desired(), DesiredState::pause));
    slurm.job->state = JobState::pending;
    slurm.job->restarts = 0;
    slept = 0;
    auto a = batch_job();
    a.is_started_again = true;
    BOOST_TEST(supervise(a) == 1);  // the supervisor of a killed one
    BOOST_TEST(slept == 4);
    BOOST_TEST(std::ranges::count(slurm.calls, "release 123_0") == 0);
}

BOOST_AUTO_TEST_CASE(a_cancelled_trial_is_not_started) {
    step_is("exit 1");
    must(journal::write_desired(experiment.desired(), DesiredState::cancel));
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(!path_exists(run_path(0)));
}

BOOST_AUTO_TEST_CASE(a_missing_srun_is_reported) {
    ::setenv("PATH", "/nowhere", 1);
    BOOST_TEST(supervise() == 1);
    BOOST_TEST(to_string(end_of(0).cause) == "not-launched");
}

BOOST_AUTO_TEST_CASE(a_trial_finishes_without_slurmctld) {
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
    BOOST_TEST(to_string(end_of(0).next_action) == "requeue-held");
    BOOST_TEST(slurm.calls.end()[-2] == "requeue-held 123_0");
}

BOOST_AUTO_TEST_CASE(a_run_that_does_not_stop_in_time_is_killed_and_held) {
    // A real srun ends its step on TERM; this one has no tasks and ends itself.
    step_is(R"(trap 'exit 143' TERM
        cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/desired"; kill -USR2 $PPID
        while :; do sleep 0.01; done)");
    auto a = batch_job();
    a.spec.preemption_timeout_s = 0;
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "requeue-held");
    BOOST_TEST(end_of(0).message.find("did not stop in time") != std::string::npos, end_of(0).message);
}

BOOST_AUTO_TEST_CASE(a_job_that_is_paused_before_it_has_claimed_all_trials_is_held) {
    step_is(R"(cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/desired")");
    auto a = batch_job();
    a.spec.trial_count = 2;
    a.spec.has_fewer_tasks = true;
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
    BOOST_TEST(slurm.calls.end()[-2] == "requeue-held 123_0");
    BOOST_TEST(!path_exists(experiment.trial(1).path()));
}

BOOST_AUTO_TEST_CASE(a_job_that_is_paused_after_its_last_trial_ends) {
    step_is(R"(cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/desired")");
    auto a = batch_job();
    a.spec.has_fewer_tasks = true;
    a.spec.trial_count = 1;
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
    BOOST_TEST(!was_requeued_after(0));
}

BOOST_AUTO_TEST_CASE(a_paused_trial_is_not_started_and_its_job_is_held) {
    step_is("exit 1");
    must(journal::write_desired(experiment.desired(), DesiredState::pause));
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(!path_exists(run_path(0)));
    BOOST_TEST(slurm.calls.end()[-2] == "requeue-held 123_0");
}

BOOST_AUTO_TEST_CASE(files_of_tasks_go_with_the_last_task) {
    // The program has kept a file and says that it is done. A task that was killed leaves its heartbeat file.
    step_is(R"([ "$DET_TRIAL_RUN_ID" != 0 ] || touch "$DET_RUN_PATH/node-1.pulse"
        touch "$DET_RUN_PATH/done" "$DET_RUN_PATH/chief" "$DET_TRIAL_DIR/kept"; [ "$DET_TRIAL_RUN_ID" = 2 ])");
    BOOST_TEST(supervise() == 0);
    auto const trial = experiment.trial(0);
    BOOST_TEST((must(list_directory(trial.run(0).path())) ==
                std::vector<std::string>{"chief", "done", "life", "node-1.pulse", "rendezvous"}));
    for (std::uint32_t const run : {1, 2})
        BOOST_TEST((must(list_directory(trial.run(run).path())) == std::vector<std::string>{"life"}), run);
    BOOST_TEST(path_exists(trial.path() / "files/kept"));
}

BOOST_AUTO_TEST_CASE(a_run_removes_no_newer_generation_than_its_own) {
    // A run that this supervisor does not see yet has made it.
    step_is(R"(mkdir -p "$DET_TRIAL_DIR/../../1/files"; exit 0)");
    BOOST_TEST(supervise() == 0);
    auto const trial = experiment.trial(0);
    BOOST_TEST(path_exists(trial.generation(1).files()));
    BOOST_TEST(!path_exists(trial.generation(0).path()));
}

BOOST_AUTO_TEST_CASE(a_run_that_is_cut_off_removes_nothing) {
    step_is(R"(mkdir "$DET_RUN_PATH/../1"; exit 0)");
    (void)supervise();
    auto const trial = experiment.trial(0);
    BOOST_TEST(path_exists(trial.run(0).rendezvous()));
    BOOST_TEST(path_exists(trial.generation(0).files()));
}

BOOST_AUTO_TEST_SUITE_END()
