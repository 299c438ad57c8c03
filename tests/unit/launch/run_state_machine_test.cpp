#include <det/launch/supervisor/run_state_machine.hpp>

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
    BOOST_TEST((machine.on_desired(Desired::run, start) == RunAction::wait));
    BOOST_TEST((machine.on_desired(Desired::pause, start) == RunAction::ask_to_stop));
    BOOST_TEST((machine.stop_reason() == StopReason::user));
    BOOST_TEST((machine.on_desired(Desired::pause, start + 30s) == RunAction::wait));
    BOOST_TEST((machine.wakes_at() == start + 60s));
    BOOST_TEST((machine.on_time(start + 59s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 60s) == RunAction::kill));
    BOOST_TEST(machine.was_killed());
    BOOST_TEST((machine.on_time(start + 61s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 120s) == RunAction::abandon));
    BOOST_TEST(!machine.wakes_at());
}

BOOST_AUTO_TEST_CASE(a_kill_does_not_ask) {
    RunStateMachine machine(60s);
    machine.on_desired(Desired::cancel, start);
    BOOST_TEST((machine.on_desired(Desired::kill, start + 1s) == RunAction::kill));
    BOOST_TEST((machine.on_desired(Desired::kill, start + 2s) == RunAction::wait));
}

BOOST_AUTO_TEST_CASE(during_the_grace_period_ranks_are_not_killed) {
    RunStateMachine machine(60s);
    BOOST_TEST((machine.on_notice() == RunAction::query_job));
    auto job = job_with_limit(30s);
    job.preempt_time = noon;
    BOOST_TEST((machine.on_job(job, noon, start) == RunAction::wait));
    BOOST_TEST(!machine.wakes_at());
    // Now Slurm ends the job: the run is recorded before Slurm kills the supervisor.
    job.state = JobState::completing;
    machine.on_notice();
    machine.on_job(job, noon, start + 30s);
    BOOST_TEST((machine.on_time(start + 32s) == RunAction::wait));
    BOOST_TEST((machine.on_time(start + 33s) == RunAction::finish_run));
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
