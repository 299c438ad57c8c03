// The step of slurm.stage: what its end means for the run.
#include <det/foundation/text.hpp>
#include <det/protocol/staged_file.hpp>

#include <algorithm>
#include <chrono>

#include "stage_files.hpp"
#include "supervisor_fixture.hpp"
#include "wait_for_step.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace supervisor_stage_test {

struct StageStepFixture : SupervisorFixture {
    StageStepFixture() {
        slurm.node_list.resize(2);
        for (std::size_t i = 0; i < 2; ++i) {
            slurm.node_list[i].name = "n" + std::to_string(i);
            slurm.node_list[i].state = "allocated";
        }
    }

    BatchJob staging_job() const {
        auto a = batch_job();
        set_staged_files(a.spec.config, {{root / "model.bin", 3'000'000'000,
                                          std::string(64, 'a')}});  // 20 minutes of a slow disk
        return a;
    }
    Result<std::string> stage() {
        auto const a = staging_job();
        return stage_files(
            a, with_shape(a, {{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0}),
            {slurm, clock, Environment::of_this_process(), "/opt/det-wrap-rank",
             [this](std::string const& line) { log_lines.push_back(line); }, end_process, output()},
            {});
    }
    /// The value of an option of det-launch in the step that was started.
    std::string option(std::string const& name) const {
        auto const text = must(read_file(root / "words"));
        auto const words = split_lines(text);
        auto const found = std::ranges::find(words, name);
        BOOST_REQUIRE(words.end() - found > 1);
        return std::string(found[1]);
    }
    /// A step that brings no files before it is ended, and first runs `script`; the run's own step creates
    /// `started`.
    void slow_stage_is(std::string const& script) {
        step_is("case \"$*\" in *stage-node*) " + script + "; exec sleep 600 ;; esac; touch '" +
                (root / "started").string() + "'");
    }
    bool has_called(std::string const& call) const {
        return std::ranges::find(slurm.calls, call) != slurm.calls.end();
    }
    std::string record_words() const {
        return "printf '%s\\n' \"$@\" >'" + (root / "words").string() + "'\n";
    }
};

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace supervisor_stage_test
using supervisor_stage_test::contains;

BOOST_FIXTURE_TEST_SUITE(supervisor_stage_test, supervisor_stage_test::StageStepFixture)

BOOST_AUTO_TEST_CASE(a_run_does_not_start_without_its_files_and_no_restart_is_counted) {
    step_is("case \"$*\" in *stage-node*) exit 1 ;; esac; touch '" + (root / "started").string() + "'");
    BOOST_TEST(supervise(staging_job()) == 1);
    BOOST_TEST((end_of(0).cause == Cause::not_launched));
    BOOST_TEST(!path_exists(root / "started"));
    BOOST_TEST(!path_exists(run_path(1)));
    auto const error = must_fail(stage());
    BOOST_TEST(contains(error.message, "to n[0-1] has ended with 1, and no node could write the reason"),
               error.message);
    // The reason of a node counts more than the exit code.
    step_is(
        "while [ \"$1\" != --directory ]; do shift; done\n"
        "printf 'no space\\nmake some\\n' >\"$2/failure\"; exit 1");
    auto const reason = must_fail(stage());
    BOOST_TEST(reason.message == "no space");
    BOOST_TEST(reason.hint == "make some");
}

BOOST_AUTO_TEST_CASE(a_step_that_does_not_end_has_a_limit_which_includes_the_wait_for_another_job) {
    step_is(record_words() + "exec sleep 600");
    clock.step = std::chrono::minutes(2);
    auto const begin = clock.steady_now();
    auto const error = must_fail(stage());
    auto const took = clock.steady_now() - begin;
    BOOST_TEST((error.code == codes::timed_out));
    BOOST_TEST(contains(error.message, "has not ended after 40 minutes"), error.message);
    // As long as the wait for another job, the node has for its own copy.
    BOOST_TEST(option("--wait-s") == "1200");
    BOOST_TEST((took >= std::chrono::minutes(40) && took < std::chrono::minutes(50)));
    BOOST_TEST((std::ranges::find(slurm.calls, "cancel-step 123_0 7.0.0.stage") != slurm.calls.end()));
}

BOOST_AUTO_TEST_CASE(the_runs_own_step_finds_a_lost_node) {
    step_is("exit 1");
    slurm.node_list[1].state = "down+not_responding";
    BOOST_TEST(must(stage()) == "123_0");
    BOOST_REQUIRE(log_lines.size() == 1u);
    BOOST_TEST(contains(log_lines[0], "the step that brings its files has ended with 1"), log_lines[0]);
    slurm.node_list[1].state = "allocated";
    must_fail(stage());
    // srun could not start all tasks, which Slurm may notice minutes later.
    step_is("exit 233");
    BOOST_TEST(must(stage()) == "123_0");
    // Slurm signals this job and its steps at the same time.
    step_is("exit 143");
    BOOST_TEST(must(stage()) == "123_0");
    step_is("exit 1");
    slurm.is_down = true;
    BOOST_TEST(must(stage()) == "123_0");
}

BOOST_AUTO_TEST_CASE(a_trial_that_is_stopped_while_its_files_are_brought_ends_without_its_step) {
    clock.step = std::chrono::seconds(1);
    slow_stage_is(R"(cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/desired"; kill -URG $PPID)");
    BOOST_TEST(supervise(staging_job()) == 0);
    BOOST_TEST(end_of(0).cause_name() == "paused");
    BOOST_TEST((end_of(0).next_action == NextAction::requeue_held));
    BOOST_TEST(end_of(0).message == "the user paused it; the trainer was not started");
    BOOST_TEST(has_called("cancel-step 123_0 7.0.0.stage"));
    BOOST_TEST(has_called("requeue-held 123_0"));
    BOOST_TEST(!path_exists(run_path(0) + "/stage"));
    // A request is seen also if its signal is lost.
    must(journal::write_desired(root / "kill", DesiredState::kill));
    must(journal::write_desired(experiment.desired(), DesiredState::run));
    slow_stage_is(R"(sleep 1; cp "$DET_ROOT/kill" "$DET_EXPERIMENT_PATH/desired")");
    BOOST_TEST(supervise(staging_job()) == 0);
    BOOST_TEST(end_of(1).cause_name() == "canceled");
    BOOST_TEST((end_of(1).next_action == NextAction::stop));
    BOOST_TEST(has_called("cancel-step 123_0 7.0.1.stage"));
    BOOST_TEST(!path_exists(root / "started"));
}

BOOST_AUTO_TEST_CASE(
    a_trial_that_is_paused_and_activated_while_its_files_are_brought_starts_in_the_same_job) {
    clock.step = std::chrono::seconds(1);
    slow_stage_is(R"(cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/desired"; kill -URG $PPID)");
    on_log = [&](std::string const& line) {
        if (!contains(line, "is stopped before its step starts")) return;
        must(journal::write_desired(experiment.desired(), DesiredState::run));
        step_is("exit 0");
    };
    BOOST_TEST(supervise(staging_job()) == 0);
    BOOST_TEST((end_of(0).next_action == NextAction::restart_in_place));
    BOOST_TEST(end_of(1).cause_name() == "finished");
}

BOOST_AUTO_TEST_CASE(a_notice_of_slurm_while_files_are_brought_ends_the_run_without_its_step) {
    slurm.job->preempt_time = UtcTime{1};
    slow_stage_is("kill -TERM $PPID");
    supervise(staging_job());
    BOOST_TEST(end_of(0).cause_name() == "preempted");
    BOOST_TEST(was_requeued_after(0));
    BOOST_TEST(has_called("cancel-step 123_0 7.0.0.stage"));
    // At the start of a grace period Slurm signals the steps only.
    slow_stage_is("exit 143");
    supervise(staging_job());
    BOOST_TEST(end_of(1).cause_name() == "preempted");
    BOOST_TEST(end_of(1).message == "Slurm preempted the job; the trainer was not started");
    BOOST_TEST(was_requeued_after(1));
    BOOST_TEST(!path_exists(root / "started"));
}

BOOST_AUTO_TEST_CASE(the_desired_state_is_read_at_signals_and_twice_a_minute) {
    DesiredStateTimes times;
    auto const begin = DesiredStateTimes::Time();
    BOOST_TEST(times.take(false, begin));
    BOOST_TEST(!times.take(true, begin + std::chrono::milliseconds(900)));
    BOOST_TEST(times.take(true, begin + std::chrono::milliseconds(1000)));
    BOOST_TEST(!times.take(false, begin + std::chrono::milliseconds(30'900)));
    BOOST_TEST(times.take(false, begin + std::chrono::milliseconds(31'000)));
}

BOOST_AUTO_TEST_SUITE_END()
