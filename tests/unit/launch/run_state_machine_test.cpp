#include "run_state_machine.hpp"

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::launch::supervisor;
using namespace std::chrono_literals;
using lifecycle::StopReason;
using slurm::JobState;

namespace run_state_machine_test {

constexpr UtcTime noon{1'795'262'400'000'000};
RunStateMachine::Time const start{};

UtcTime after_noon(std::chrono::seconds time) {
    return {noon.microseconds + std::chrono::microseconds(time).count()};
}

slurm::JobStatus job_with_limit(std::chrono::seconds limit) {
    slurm::JobStatus job;
    job.state = JobState::running;
    job.start_time = noon;
    job.end_time = after_noon(limit);
    return job;
}

}  // namespace run_state_machine_test

BOOST_AUTO_TEST_SUITE(run_state_machine_test)

BOOST_AUTO_TEST_CASE(a_pause_asks_once_and_kills_after_the_timeout) {
    RunStateMachine machine(60s);
    BOOST_TEST((machine.on_desired(DesiredState::run, start) == RunAction::wait));
    BOOST_TEST((machine.on_desired(DesiredState::pause, start) == RunAction::ask_to_stop));
    BOOST_TEST((machine.stop_reason() == StopReason::user));
    BOOST_TEST((machine.on_desired(DesiredState::pause, start + 30s) == RunAction::wait));
    BOOST_TEST((machine.wakes_at() == start + 60s));
    BOOST_TEST((machine.on_time(start + 59s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 60s) == RunAction::kill));
    BOOST_TEST(machine.was_killed());
    BOOST_TEST((machine.wakes_at() == start + 65s));
    BOOST_TEST((machine.on_time(start + 65s - 1ms) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 65s) == RunAction::cancel_step));
    BOOST_TEST((machine.on_time(start + 66s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 120s) == RunAction::abandon));
    BOOST_TEST(!machine.wakes_at());
}

BOOST_AUTO_TEST_CASE(a_kill_does_not_ask) {
    RunStateMachine machine(60s);
    BOOST_TEST((machine.on_desired(DesiredState::kill, start) == RunAction::kill));
    BOOST_TEST(machine.was_killed());
    BOOST_TEST((machine.stop_reason() == StopReason::none));
    for (auto const later : {DesiredState::kill, DesiredState::cancel, DesiredState::pause})
        BOOST_TEST((machine.on_desired(later, start + 1s) == RunAction::wait));
    BOOST_TEST((machine.wakes_at() == start + 5s));  // not the end of a request to stop
    BOOST_TEST((machine.on_time(start + 5s) == RunAction::cancel_step));
    BOOST_TEST((machine.on_time(start + 60s) == RunAction::abandon));
    BOOST_TEST((machine.stop_reason() == StopReason::none));
}

BOOST_AUTO_TEST_CASE(a_kill_does_not_wait_for_an_earlier_request_to_stop) {
    RunStateMachine machine(60s);
    BOOST_TEST((machine.on_desired(DesiredState::cancel, start) == RunAction::ask_to_stop));
    BOOST_TEST((machine.on_desired(DesiredState::kill, start + 1s) == RunAction::kill));
    BOOST_TEST((machine.on_desired(DesiredState::kill, start + 2s) == RunAction::wait));
    BOOST_TEST((machine.wakes_at() == start + 6s));
}

BOOST_AUTO_TEST_CASE(a_run_is_asked_to_stop_for_more_nodes_unless_it_ends_already) {
    RunStateMachine machine(60s);
    BOOST_TEST((machine.on_grow(start) == RunAction::ask_to_stop));
    BOOST_TEST((machine.stop_reason() == StopReason::grow));
    BOOST_TEST((machine.on_grow(start + 1s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 60s) == RunAction::kill));
    RunStateMachine paused(60s);
    paused.on_desired(DesiredState::pause, start);
    BOOST_TEST((paused.on_grow(start) == RunAction::wait));
    BOOST_TEST((paused.stop_reason() == StopReason::user));
}

BOOST_AUTO_TEST_CASE(an_idle_run_is_asked_to_stop_and_killed_later_unless_it_ends_already) {
    RunStateMachine machine(60s);
    BOOST_TEST((machine.on_idle(start) == RunAction::ask_to_stop));
    BOOST_TEST((machine.stop_reason() == StopReason::idle));
    BOOST_TEST((machine.on_idle(start + 1s) == RunAction::wait));
    BOOST_TEST((machine.on_hang(start + 1s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 60s) == RunAction::kill));
    RunStateMachine paused(60s), hung(60s);
    paused.on_desired(DesiredState::pause, start);
    BOOST_TEST((paused.on_idle(start) == RunAction::wait));
    BOOST_TEST((paused.stop_reason() == StopReason::user));
    hung.on_hang(start);
    BOOST_TEST((hung.on_idle(start) == RunAction::wait));
}

BOOST_AUTO_TEST_CASE(the_search_asks_once_and_its_reason_wins) {
    RunStateMachine machine(60s);
    BOOST_TEST((machine.on_search_end(start) == RunAction::ask_to_stop));
    BOOST_TEST((machine.on_search_end(start + 1s) == RunAction::wait));
    BOOST_TEST((machine.stop_reason() == StopReason::search));
    BOOST_TEST((machine.on_time(start + 60s) == RunAction::kill));
    RunStateMachine paused(60s);
    paused.on_desired(DesiredState::pause, start);
    BOOST_TEST((paused.on_search_end(start + 30s) == RunAction::wait));
    BOOST_TEST((paused.stop_reason() == StopReason::search));
    BOOST_TEST((paused.on_time(start + 60s) == RunAction::kill));
    RunStateMachine mistaken(60s);
    BOOST_TEST((mistaken.on_invalid_report(start) == RunAction::kill));
    BOOST_TEST((mistaken.on_search_end(start) == RunAction::wait));
}

BOOST_AUTO_TEST_CASE(a_run_that_hangs_is_killed_after_its_stacks_were_written) {
    RunStateMachine machine(60s);
    BOOST_TEST((machine.on_hang(start) == RunAction::show_stacks));
    BOOST_TEST((machine.on_hang(start + 1s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 15s - 1ms) == RunAction::wait));
    BOOST_TEST(!machine.was_hung());  // a program that ends by itself until then has not hung
    BOOST_TEST((machine.on_time(start + 15s) == RunAction::kill));
    BOOST_TEST(machine.was_hung());
}

BOOST_AUTO_TEST_CASE(a_run_that_was_asked_to_stop_or_killed_does_not_hang) {
    RunStateMachine paused(60s);
    paused.on_desired(DesiredState::pause, start);
    BOOST_TEST((paused.on_hang(start + 1s) == RunAction::wait));
    BOOST_TEST((paused.wakes_at() == start + 60s));
    RunStateMachine killed(60s);
    killed.on_silence("n1", start);
    BOOST_TEST((killed.on_hang(start + 1s) == RunAction::wait));
    BOOST_TEST(!killed.was_hung());
    RunStateMachine killed_meanwhile(60s);
    BOOST_TEST((killed_meanwhile.on_hang(start) == RunAction::show_stacks));
    BOOST_TEST((killed_meanwhile.on_desired(DesiredState::kill, start + 1s) == RunAction::kill));
    BOOST_TEST(!killed_meanwhile.was_hung());
}

BOOST_AUTO_TEST_CASE(the_step_of_a_lost_node_is_given_up_sooner_than_that_of_a_silent_one) {
    RunStateMachine silent(60s), lost(60s);
    BOOST_TEST((silent.on_silence("n1", start) == RunAction::kill));
    BOOST_TEST((lost.on_lost_node("n1", start) == RunAction::kill));
    BOOST_TEST(!silent.is_node_lost());
    BOOST_TEST(lost.is_node_lost());
    BOOST_TEST(lost.silent_host() == "n1");
    for (auto* machine : {&silent, &lost}) {
        BOOST_TEST((machine->on_time(start + 5s - 1ms) == RunAction::wait));
        BOOST_TEST((machine->on_time(start + 5s) == RunAction::cancel_step));
        BOOST_TEST((machine->on_time(start + 15s - 1ms) == RunAction::wait));
    }
    BOOST_TEST((lost.on_time(start + 15s) == RunAction::abandon));
    BOOST_TEST((silent.on_time(start + 60s - 1ms) == RunAction::wait));
    BOOST_TEST((silent.on_time(start + 60s) == RunAction::abandon));
    // srun waits for the lost node only.
    RunStateMachine alone(60s);
    alone.on_others_ended(start);
    BOOST_TEST((alone.on_lost_node("n1", start) == RunAction::kill));
    BOOST_TEST((alone.on_time(start + 2s) == RunAction::wait));
    alone.on_others_ended(start + 2s);
    alone.on_others_ended(start + 2400ms);
    BOOST_TEST((alone.on_time(start + 2499ms) == RunAction::wait));
    BOOST_TEST((alone.on_time(start + 2500ms) == RunAction::abandon));
    alone.on_others_ended(start + 3s);
    BOOST_TEST((alone.on_time(start + 4s) == RunAction::wait));
    // A run that is ended for another reason stays so.
    RunStateMachine killed(60s);
    BOOST_TEST((killed.on_desired(DesiredState::kill, start) == RunAction::kill));
    BOOST_TEST((killed.on_lost_node("n1", start) == RunAction::wait));
    BOOST_TEST(!killed.is_node_lost());
}

BOOST_AUTO_TEST_CASE(a_run_ends_before_its_grace_period_does) {
    RunStateMachine machine(60s);
    BOOST_TEST((machine.on_task_notice() == RunAction::query_job));
    auto job = job_with_limit(60s);
    job.preempt_time = after_noon(30s);
    BOOST_TEST((machine.on_job(job, after_noon(31s), start) == RunAction::wait));
    // 29 s of the grace period of 30 s are left. The step is killed 3 s before its end.
    BOOST_TEST((machine.on_time(start + 25s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 26s) == RunAction::kill));
    BOOST_TEST(machine.was_killed());
    BOOST_TEST((machine.on_time(start + 27s) == RunAction::wait));
    // A step that can't be killed is left to Slurm: the job is requeued in time.
    BOOST_TEST((machine.on_time(start + 28s) == RunAction::finish_run));
}

BOOST_AUTO_TEST_CASE(without_an_end_time_the_grace_period_of_the_pool_counts) {
    auto job = job_with_limit(60s);
    job.preempt_time = after_noon(30s);
    job.end_time.reset();  // squeue prints NONE for a job without a time limit
    RunStateMachine machine(60s, 30s);
    machine.on_task_notice();
    machine.on_job(job, after_noon(31s), start);
    BOOST_TEST((machine.on_time(start + 25s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 26s) == RunAction::kill));
    RunStateMachine knows_nothing(60s);
    knows_nothing.on_task_notice();
    knows_nothing.on_job(job, after_noon(31s), start);
    BOOST_TEST(!knows_nothing.wakes_at());
}

BOOST_AUTO_TEST_CASE(after_a_notice_to_its_tasks_slurm_is_asked_a_few_times) {
    RunStateMachine machine(60s);
    auto now = start;
    BOOST_TEST((machine.on_task_notice() == RunAction::query_job));
    for (int i = 0; i < 3; ++i) {
        machine.on_job(i == 0 ? std::nullopt : std::optional(job_with_limit(24h * 400)), noon, now);
        BOOST_TEST((machine.on_time(now + 1s) == RunAction::wait));
        now += 2s;
        BOOST_TEST((machine.on_time(now) == RunAction::query_job));
    }
    machine.on_job(std::nullopt, noon, now);
    BOOST_TEST(!machine.wakes_at());
}

BOOST_AUTO_TEST_CASE(the_grace_period_limits_an_earlier_request_too) {
    RunStateMachine machine(600s);
    machine.on_desired(DesiredState::pause, start);
    auto job = job_with_limit(30s);
    job.preempt_time = noon;
    machine.on_job(job, noon, start);
    BOOST_TEST((machine.on_time(start + 27s) == RunAction::kill));
    // What was killed is not killed again.
    machine.on_job(job, after_noon(28s), start + 28s);
    BOOST_TEST((machine.on_time(start + 28s) == RunAction::wait));
}

BOOST_AUTO_TEST_CASE(a_run_is_recorded_before_slurm_kills_the_supervisor) {
    RunStateMachine machine(60s);
    auto job = job_with_limit(30s);
    job.preempt_time = noon;
    job.state = JobState::completing;
    machine.on_notice();
    machine.on_job(job, after_noon(30s), start + 30s);
    BOOST_TEST((machine.on_time(start + 32s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 33s) == RunAction::finish_run));
}

BOOST_AUTO_TEST_CASE(a_program_may_requeue_its_job_long_before_the_grace_period_is_over) {
    RunStateMachine machine(60s);
    auto job = job_with_limit(30s);
    job.preempt_time = noon;
    machine.on_task_notice();
    machine.on_job(job, noon, start);
    job.state = JobState::completing;
    machine.on_notice();
    machine.on_job(job, after_noon(1s), start + 1s);
    machine.on_job(job, after_noon(2s), start + 2s);  // the first answer counts
    BOOST_TEST((machine.on_time(start + 3s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 4s) == RunAction::finish_run));
}

BOOST_AUTO_TEST_CASE(after_an_unexplained_notice_the_run_is_recorded) {
    RunStateMachine machine(60s);
    machine.on_notice();
    machine.on_job(std::nullopt, noon, start);
    BOOST_TEST((machine.on_time(start + 3s) == RunAction::finish_run));
}

BOOST_AUTO_TEST_CASE(before_the_time_limit_ranks_are_asked_unless_it_was_extended) {
    RunStateMachine machine(60s);
    machine.on_job(job_with_limit(600s), noon, start);
    BOOST_TEST((machine.wakes_at() == start + 540s));
    BOOST_TEST((machine.on_time(start + 540s) == RunAction::query_job));
    BOOST_TEST((machine.on_job(job_with_limit(1200s), after_noon(540s), start + 540s) == RunAction::wait));
    BOOST_TEST((machine.wakes_at() == start + 1080s));
    BOOST_TEST((machine.on_time(start + 1080s) == RunAction::query_job));
    BOOST_TEST(
        (machine.on_job(job_with_limit(1200s), after_noon(1080s), start + 1080s) == RunAction::ask_to_stop));
    BOOST_TEST((machine.stop_reason() == StopReason::time_limit));
    BOOST_TEST(!machine.wakes_at());  // Slurm ends a run that ignores the request
}

BOOST_AUTO_TEST_CASE(without_a_limit_and_in_grace_no_limit_is_watched) {
    RunStateMachine machine(60s);
    machine.on_job(job_with_limit(std::chrono::hours(24) * 400), noon, start);
    BOOST_TEST(!machine.wakes_at());
    slurm::JobStatus unlimited;
    unlimited.state = JobState::running;
    machine.on_job(unlimited, noon, start);
    BOOST_TEST(!machine.wakes_at());
}

BOOST_AUTO_TEST_CASE(the_margin_is_a_tenth_between_30_s_and_5_min) {
    BOOST_TEST((time_limit_margin(60s) == 30s));
    BOOST_TEST((time_limit_margin(1000s) == 100s));
    BOOST_TEST((time_limit_margin(86400s) == 300s));
}

BOOST_AUTO_TEST_SUITE_END()
