// A step that Slurm does not create: what srun says about it, and when the supervisor gives it up.
#include "step_refusal.hpp"

#include <boost/test/unit_test.hpp>

#include "run_state_machine.hpp"
#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;
using namespace std::chrono_literals;

namespace step_refusal_test {

StepRefusalWatch::Time const start{};
constexpr auto limit = StepRefusalWatch::limit;

/// The program `srun` waits for its step, and wakes the supervisor at each moment, until the file `ready` is
/// there.
struct RefusedStep : SupervisorFixture {
    static constexpr auto waiting = R"(
        until [ -e "$DET_ROOT/ready" ]; do kill -URG $PPID; sleep 0.02; done
        echo x >"$DET_RUN_PATH/node-0.log")";
    static constexpr auto refused =
        R"(echo 'srun: Job 123 step creation temporarily disabled, retrying (Requested nodes are busy)' >>"$DET_ROOT/output"
)";
    static constexpr auto fails_once =
        R"([ "$DET_TRIAL_RUN_ID" != 0 ] || { echo x >"$DET_RUN_PATH/node-0.log"; exit 1; }
)";

    RefusedStep() {
        ::setenv("DET_ROOT", root.path().c_str(), 1);
        must(write_file(output(), ""));
        clock.step = 500ms;
    }
    ~RefusedStep() { ::unsetenv("DET_ROOT"); }

    static slurm::Node node(std::string const& name, std::string const& state) {
        slurm::Node node;
        node.name = name;
        node.partition = "compute";
        node.state = state;
        return node;
    }

    /// Slurm creates the step after this time.
    void is_ready_after(std::chrono::seconds time) {
        clock.on_sleep = [this, time](auto elapsed) {
            if (elapsed >= time) must(write_file(root / "ready", ""));
        };
    }
};

}  // namespace step_refusal_test

using namespace step_refusal_test;

BOOST_AUTO_TEST_SUITE(step_refusal_test)

BOOST_AUTO_TEST_CASE(srun_says_that_its_step_is_refused_and_that_it_was_created) {
    constexpr auto busy = "Requested nodes are busy";
    std::string const of_22 =
        "srun: Job 123 step creation temporarily disabled, retrying (Requested nodes are busy)\n";
    std::string const of_24 =
        "srun: Step creation temporarily disabled, retrying (Requested nodes are busy)\n";
    for (auto const& refused : {of_22, of_24}) {
        BOOST_TEST(find_step_refusal(refused) == busy);
        BOOST_TEST(find_step_refusal("epoch 3\n" + refused + "epoch 4\n") == busy);
        BOOST_TEST(find_step_refusal(refused + "srun: Step created for StepId=123.4\n") == "");
        BOOST_TEST(find_step_refusal(refused + "srun: Step created for StepId=123.4\n" + refused) == busy);
        BOOST_TEST(find_step_refusal("node n1: " + refused) == "");
    }
    BOOST_TEST(find_step_refusal("") == "");
    // A prolog may take long, and slurmctld may be gone for long.
    BOOST_TEST(
        find_step_refusal(
            "srun: Job 1 step creation temporarily disabled, retrying (Job prolog is still running)\n") ==
        "");
    BOOST_TEST(
        find_step_refusal(
            of_22 +
            "srun: Job 123 step creation still disabled, retrying (Slurm controller not responding)\n") ==
        "");
    BOOST_TEST(find_step_refusal(
                   "srun: error: Unable to create step for job 123: Requested nodes are busy\n") == "");
}

BOOST_AUTO_TEST_CASE(the_supervisor_looks_when_the_time_is_over_and_from_time_to_time_then) {
    StepRefusalWatch watch;
    BOOST_TEST(!watch.next_look());
    BOOST_TEST(!watch.take(start + 24h));
    watch.begin(start);
    BOOST_TEST(!watch.take(start + limit - 1ms));
    BOOST_TEST(watch.take(start + limit));
    BOOST_TEST(!watch.take(start + limit + StepRefusalWatch::between_looks - 1ms));
    BOOST_TEST(watch.take(start + limit + StepRefusalWatch::between_looks));
    watch.end();
    BOOST_TEST(!watch.take(start + 24h));
}

BOOST_AUTO_TEST_CASE(a_look_that_comes_late_begins_the_time_anew) {
    StepRefusalWatch in_time, late;
    in_time.begin(start);
    late.begin(start);
    BOOST_TEST(in_time.take(start + limit + StepRefusalWatch::late));
    auto const resumed = start + limit + StepRefusalWatch::late + 1ms;
    BOOST_TEST(!late.take(resumed));
    BOOST_TEST(!late.take(resumed + limit - 1ms));
    BOOST_TEST(late.take(resumed + limit));
}

BOOST_AUTO_TEST_CASE(slurm_is_asked_less_and_less_often) {
    StepRefusalWatch watch;
    watch.begin(start);
    auto now = start + limit;
    BOOST_TEST(watch.may_query(now));
    for (auto const wait : {10s, 20s, 40s, 80s, 120s, 120s}) {
        watch.end_query(true, now);
        BOOST_TEST(!watch.may_query(now + wait - 1ms));
        now += wait;
        BOOST_TEST(watch.may_query(now));
    }
    watch.begin(now);  // the next step
    watch.end_query(true, now);
    BOOST_TEST(watch.may_query(now + 10s));
}

BOOST_AUTO_TEST_CASE(slurm_that_does_not_answer_is_asked_rarely_and_its_query_makes_no_look_late) {
    StepRefusalWatch watch;
    watch.begin(start);
    BOOST_TEST(watch.take(start + limit));
    auto const answered = start + limit + StepRefusalWatch::between_looks + StepRefusalWatch::late + 1ms;
    watch.end_query(false, answered);
    BOOST_TEST(!watch.take(answered + StepRefusalWatch::between_looks - 1ms));
    BOOST_TEST(watch.take(answered + StepRefusalWatch::between_looks));
    BOOST_TEST(!watch.may_query(answered + 300s - 1ms));
    BOOST_TEST(watch.may_query(answered + 300s));
}

BOOST_AUTO_TEST_CASE(the_srun_of_a_refused_step_is_given_up_soon) {
    RunStateMachine refused(60s);
    BOOST_TEST((refused.on_refused_step(start) == RunAction::kill));
    BOOST_TEST((refused.on_refused_step(start) == RunAction::wait));
    BOOST_TEST(refused.silent_host() == "");
    BOOST_TEST((refused.on_time(start + 5s) == RunAction::cancel_step));
    BOOST_TEST((refused.on_time(start + 10s - 1ms) == RunAction::wait));
    BOOST_TEST((refused.on_time(start + 10s) == RunAction::abandon));
}

BOOST_FIXTURE_TEST_CASE(a_step_that_slurm_does_not_create_ends_the_run_and_the_job_is_queued_again,
                        RefusedStep) {
    step_is(std::string(fails_once) + refused + waiting);
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(1).cause) == "not-launched");
    BOOST_TEST(to_string(end_of(1).next_action) == "requeue");
    auto const& message = end_of(1).message;
    BOOST_TEST(message.starts_with("the trainer was not started: for "), message);
    BOOST_TEST(message.ends_with(" s Slurm has created no step (Requested nodes are busy); requeued"),
               message);
    BOOST_TEST(!path_exists(run_path(2)));
}

BOOST_FIXTURE_TEST_CASE(a_run_whose_node_slurm_has_taken_ends_and_the_job_is_queued_again, RefusedStep) {
    slurm.node_list = {node("n0", "allocated"), node("n1", "idle")};
    step_is(std::string(fails_once) + waiting);
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(1).cause) == "not-launched");
    BOOST_TEST(end_of(1).message.ends_with("created no step (its node n1 is idle for Slurm); requeued"),
               end_of(1).message);
}

BOOST_FIXTURE_TEST_CASE(a_step_that_is_slow_on_nodes_of_the_job_is_awaited, RefusedStep) {
    // n2 is no node of the job.
    slurm.node_list = {node("n0", "allocated"), node("n1", "mixed"), node("n2", "idle")};
    is_ready_after(limit + 30s);
    step_is(std::string(fails_once) + waiting);
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(1).cause) == "finished");
}

BOOST_FIXTURE_TEST_CASE(slurm_that_does_not_answer_is_asked_once_about_a_step_that_is_slow, RefusedStep) {
    slurm.refused = {"nodes"};
    is_ready_after(limit + 200s);
    step_is(std::string(fails_once) + waiting);
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(1).cause) == "finished");
    BOOST_TEST(std::ranges::count(slurm.calls, "nodes") == 1);
}

BOOST_FIXTURE_TEST_CASE(a_step_that_slurm_creates_in_time_is_not_given_up, RefusedStep) {
    is_ready_after(limit - 15s);
    step_is(std::string(fails_once) + refused + waiting);
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(1).cause) == "finished");
}

BOOST_FIXTURE_TEST_CASE(a_step_that_was_created_is_not_given_up, RefusedStep) {
    is_ready_after(limit + 30s);
    step_is(std::string(fails_once) + refused +
            "echo 'srun: Step created for StepId=123.1' >>\"$DET_ROOT/output\"" + waiting);
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(1).cause) == "finished");
}

BOOST_FIXTURE_TEST_CASE(the_first_step_of_a_trial_is_awaited, RefusedStep) {
    is_ready_after(limit + 30s);
    step_is(std::string(refused) + waiting);
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
}

BOOST_AUTO_TEST_SUITE_END()
