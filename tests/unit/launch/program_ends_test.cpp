// How the end of a program is classified that uses signals, exit codes and files instead of the Core API.
#include <det/protocol/forward_signals.hpp>
#include <det/protocol/rank_failure.hpp>

#include <boost/test/unit_test.hpp>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;
using slurm::JobState;

namespace program_ends_test {

struct Fixture : SupervisorFixture {
    BatchJob notified_by(std::vector<std::string> signals) const {
        auto a = batch_job();
        a.spec.forward_signals = std::move(signals);
        return a;
    }
    /// Slurm preempts the job; the end of the grace period is unknown.
    void be_in_grace() {
        slurm.job->preempt_time = UtcTime{1};
        slurm.job->end_time = std::nullopt;
    }
    std::string end_text(std::uint32_t run) const {
        auto const end = end_of(run);
        return std::string(to_string(end.cause)) + " " + std::string(to_string(end.next_action));
    }
};

}  // namespace program_ends_test

BOOST_FIXTURE_TEST_SUITE(program_ends_test, program_ends_test::Fixture)

BOOST_AUTO_TEST_CASE(exit_0_after_a_notice_that_the_program_gets_is_a_preemption) {
    step_is("exit 0");
    be_in_grace();
    BOOST_TEST(supervise(notified_by({"TERM"})) == 0);
    BOOST_TEST(end_text(0) == "preempted requeue", end_of(0).message);
    BOOST_TEST(was_requeued_after(0));
    // A program that does not see the notice has finished.
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(end_text(1) == "finished stop");
}

BOOST_AUTO_TEST_CASE(a_notice_that_a_wrapper_has_recorded_counts) {
    step_is("echo TERM >\"$DET_RUN_PATH/noticed\"; exit 0");
    BOOST_TEST(supervise(notified_by({"USR1"})) == 0);
    BOOST_TEST(end_text(0) == "preempted requeue", end_of(0).message);
}

BOOST_AUTO_TEST_CASE(a_program_says_that_it_is_done) {
    step_is(": >\"$DET_DONE_FILE\"; exit 0");
    be_in_grace();
    BOOST_TEST(supervise(notified_by({"TERM"})) == 0);
    BOOST_TEST(end_text(0) == "finished stop", end_of(0).message);
    BOOST_TEST(!was_requeued_after(0));
}

BOOST_AUTO_TEST_CASE(after_a_notice_every_end_is_a_preemption_that_uses_up_no_restart) {
    be_in_grace();
    auto a = notified_by({"TERM"});
    a.spec.max_restarts = 0;
    // torchrun ends with 1, a nested srun with 137, a program that handles nothing with 143.
    for (auto const* code : {"1", "137", "143", "85", "84"}) {
        step_is(std::string("exit ") + code);
        BOOST_TEST(supervise(a) == 0);
    }
    for (std::uint32_t run = 0; run < 5; ++run)
        BOOST_TEST(end_text(run) == "preempted requeue", end_of(run).message);
}

BOOST_AUTO_TEST_CASE(a_save_that_crashes_after_each_notice_fails_at_the_third_time) {
    be_in_grace();
    step_is("exit 1");
    auto a = batch_job();  // with two restarts
    a.spec.progress_globs = {root / "*.pt"};
    for (auto const* end : {"preempted requeue", "preempted requeue", "failed requeue", "failed requeue"}) {
        BOOST_TEST(supervise(a) == 0);
        auto const run =
            static_cast<std::uint32_t>(must(list_directory(experiment.trial(0).runs())).size() - 1);
        BOOST_TEST(end_text(run) == end, run << ": " << end_of(run).message);
    }
    BOOST_TEST(end_of(2).message ==
               "the trainer ended with exit code 1 after a notice, 3 times in a row without having saved "
               "anything new; restart 1 of 2");
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_text(4) == "failed stop", end_of(4).message);
}

BOOST_AUTO_TEST_CASE(a_run_that_saves_something_in_between_begins_the_count_again) {
    be_in_grace();
    step_is("[ \"$DET_TRIAL_RUN_ID\" != 1 ] || : >\"$DET_ROOT/one.pt\"; exit 1");
    auto a = batch_job();
    a.spec.progress_globs = {root / "*.pt"};
    for (std::uint32_t run = 0; run < 4; ++run) {
        BOOST_TEST(supervise(a) == 0);
        BOOST_TEST(end_text(run) == "preempted requeue", end_of(run).message);
    }
}

BOOST_AUTO_TEST_CASE(where_slurm_signals_every_process_exit_0_after_its_notice_is_a_preemption) {
    step_is("echo TERM >\"$DET_RUN_PATH/noticed\"; exit 0");
    slurm.config =
        slurm::ClusterConfig(slurm::ClusterConfig::Settings{{"ProctrackType", "proctrack/linuxproc"}});
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(end_text(0) == "preempted requeue", end_of(0).message);
    slurm.config =
        slurm::ClusterConfig(slurm::ClusterConfig::Settings{{"ProctrackType", "proctrack/cgroup"}});
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(end_text(1) == "finished stop", end_of(1).message);
}

BOOST_AUTO_TEST_CASE(the_exit_code_of_the_first_rank_to_end_counts_not_that_of_ranks_that_slurm_kills_then) {
    RankFailure const end{UtcTime{1}, 3, "n0", 85, 0, ""};
    must(write_file(root / "ends", render_rank_failure(end)));
    step_is("cp \"$DET_ROOT/ends\" \"$DET_RUN_PATH/node-0.ends\"; exit 137");
    be_in_grace();
    auto a = batch_job();
    a.spec.preempted_exit_codes = {85};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(end_text(0) == "preempted requeue", end_of(0).message);
}

BOOST_AUTO_TEST_CASE(without_a_notice_a_preempted_exit_code_is_free_only_with_progress) {
    step_is("[ \"$DET_TRIAL_RUN_ID\" != 0 ] || : >\"$DET_ROOT/one.pt\"; exit 85");
    auto a = batch_job();
    a.spec.preempted_exit_codes = {85};
    a.spec.progress_globs = {root / "*.pt"};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(end_text(0) == "preempted requeue", end_of(0).message);
    BOOST_TEST(end_of(0).message == "the trainer asked to be queued again (exit code 85)");
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(end_text(1) == "failed requeue", end_of(1).message);
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(end_text(2) == "failed requeue", end_of(2).message);
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_text(3) == "failed stop", end_of(3).message);
}

BOOST_AUTO_TEST_CASE(without_visible_progress_max_restarts_holds_as_configured) {
    step_is("exit 3");
    auto a = batch_job();
    a.spec.max_restarts = 4;
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_of(4).message.find("all 4 restarts are used up") != std::string::npos, end_of(4).message);
    BOOST_TEST(!path_exists(run_path(5)));
}

BOOST_AUTO_TEST_CASE(files_that_change_are_progress) {
    // The files change in the first two runs: three more without a change end the trial.
    step_is(R"sh([ "$DET_TRIAL_RUN_ID" -gt 1 ] ||
            touch -d "@$((1000 + DET_TRIAL_RUN_ID))" "$DET_EXPERIMENT_PATH/trials/0/last.pt"
        exit 3)sh");
    auto a = batch_job();
    a.spec.max_restarts = 9;
    a.spec.progress_globs = {"no/such/*", "*.pt"};
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(end_of(4).message.find("3 times in a row") != std::string::npos, end_of(4).message);
    BOOST_TEST(!path_exists(run_path(5)));
}

BOOST_AUTO_TEST_CASE(a_run_that_ignores_its_notice_is_ended_and_requeued_before_its_grace_period_is_over) {
    // A real srun ends its step on TERM; this one has no tasks and ends itself. Slurm sends no signal to
    // this process: the supervisor learns of the notice from the wrapper.
    step_is(R"(trap 'exit 143' TERM; echo TERM >"$DET_RUN_PATH/noticed"
        while :; do sleep 0.01; done)");
    slurm.on_call = [&](std::string const&) {
        // From the second query on: the first one has been answered already.
        slurm.job->preempt_time = clock.now();
        slurm.job->end_time = clock.now();  // over at once
    };
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(end_text(0) == "preempted requeue", end_of(0).message);
    BOOST_TEST(end_of(0).message == "Slurm preempted the job; the trainer did not stop in time");
    BOOST_TEST(was_requeued_after(0));
}

BOOST_AUTO_TEST_CASE(the_names_of_notice_signals) {
    BOOST_TEST((parse_forward_signals("TERM,USR1,KILL,") == std::vector<int>{15, 10}));
    BOOST_TEST(!forward_signal_number("KILL"));
}

BOOST_AUTO_TEST_CASE(a_program_that_requeues_itself_from_a_container_is_ended_and_queued_again) {
    step_is(R"(trap 'exit 143' TERM; : >"$DET_RUN_PATH/requeue"
        while :; do sleep 0.01; done)");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "preempted");
    BOOST_TEST(to_string(end_of(0).next_action) == "requeue");
    BOOST_TEST(end_of(0).message == "the trainer asked to be queued again (scontrol requeue)");
    BOOST_TEST(was_requeued_after(0));
}

BOOST_AUTO_TEST_CASE(a_program_that_ends_at_once_after_its_request_is_queued_again_too) {
    step_is(": >\"$DET_RUN_PATH/requeue\"; exit 3");
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "requeue");
}

BOOST_AUTO_TEST_SUITE_END()
