#include "run_state_machine.hpp"

#include <det/protocol/grace_period.hpp>

#include <algorithm>

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;
using lifecycle::StopReason;
using slurm::JobState;

// KillWait may be as short as 5 s: the end of the run must be on disk before Slurm kills this process.
constexpr auto wait_after_notice = 3s;
// Time for srun to end the step after SIGTERM; then the supervisor runs scancel. srun of Slurm 26.05 ignores
// a SIGTERM that was blocked when srun started.
constexpr auto time_until_scancel = 5s;
// srun ends a step within seconds, unless it has lost a node: then it waits for ever.
constexpr auto wait_after_kill = 60s;
constexpr auto wait_for_lost_node = 15s;     // instead of wait_after_kill
constexpr auto wait_for_refused_step = 10s;  // srun has no task to end
// If all other nodes have ended: the first task of a node may end shortly before the others, which are killed
// at the same time. srun would wait for KillWait and two seconds.
constexpr auto wait_for_other_tasks = 500ms;
// The wrappers give a debugger 10 s for the stacks.
constexpr auto time_for_stacks = 15s;
constexpr auto between_grace_queries = 2s;
constexpr int grace_queries_max = 3;
constexpr auto limit_that_matters = std::chrono::hours(24) * 366;  // Slurm reports "UNLIMITED" as a year

std::chrono::microseconds time_between(UtcTime from, UtcTime to) {
    return std::chrono::microseconds(to.microseconds - from.microseconds);
}

std::chrono::seconds seconds_between(UtcTime from, UtcTime to) {
    return std::chrono::floor<std::chrono::seconds>(time_between(from, to));
}

template <class Deadline>
void advance(std::optional<Deadline>& deadline, Deadline time) {
    deadline = deadline ? std::min(*deadline, time) : time;
}

}  // namespace

std::chrono::seconds time_limit_margin(std::chrono::seconds limit) {
    return std::clamp(limit / 10, 30s, 300s);
}

RunAction RunStateMachine::on_desired(DesiredState desired, Time now) {
    if (was_killed_ || desired == DesiredState::run) return RunAction::wait;
    if (desired == DesiredState::kill) return kill(now);
    if (!kill_at_) kill_at_ = now + preemption_timeout_;
    return stop_reason_ == StopReason::none ? ask(StopReason::user) : RunAction::wait;
}

RunAction RunStateMachine::on_notice() {
    notice_received_ = true;
    return RunAction::query_job;
}

RunAction RunStateMachine::on_task_notice() {
    grace_queries_left_ = grace_queries_max;
    return RunAction::query_job;
}

RunAction RunStateMachine::on_silence(std::string const& host, Time now) {
    if (was_killed_) return RunAction::wait;
    silent_host_ = host;
    return kill(now);
}

RunAction RunStateMachine::on_lost_node(std::string const& host, Time now) {
    if (was_killed_) return RunAction::wait;
    is_node_lost_ = true;
    auto const action = on_silence(host, now);
    abandon_at_ = now + wait_for_lost_node;
    return action;
}

RunAction RunStateMachine::on_refused_step(Time now) {
    if (was_killed_) return RunAction::wait;
    auto const action = kill(now);
    abandon_at_ = now + wait_for_refused_step;
    return action;
}

void RunStateMachine::on_others_ended(Time now) {
    if (is_node_lost_ && abandon_at_) advance<Time>(abandon_at_, now + wait_for_other_tasks);
}

RunAction RunStateMachine::on_hang(Time now) {
    if (is_ending()) return RunAction::wait;
    kill_hung_at_ = now + time_for_stacks;
    return RunAction::show_stacks;
}

RunAction RunStateMachine::on_idle(Time now) {
    if (is_ending()) return RunAction::wait;
    if (!kill_at_) kill_at_ = now + preemption_timeout_;
    return ask(StopReason::idle);
}

RunAction RunStateMachine::on_grow(Time now) {
    if (is_ending()) return RunAction::wait;
    if (!kill_at_) kill_at_ = now + preemption_timeout_;
    return ask(StopReason::grow);
}

RunAction RunStateMachine::on_other_trial(Time now) {
    if (!kill_at_) kill_at_ = now + preemption_timeout_;
    return stop_reason_ == StopReason::none ? ask(StopReason::other_trial) : RunAction::wait;
}

RunAction RunStateMachine::on_search_end(Time now) {
    if (was_killed_ || stop_reason_ == StopReason::search) return RunAction::wait;
    if (!kill_at_) kill_at_ = now + preemption_timeout_;
    bool const was_asked = stop_reason_ != StopReason::none;
    auto const action = ask(StopReason::search);
    return was_asked ? RunAction::wait : action;  // one request is enough for the ranks
}

RunAction RunStateMachine::on_job(std::optional<slurm::JobStatus> const& job, UtcTime now_utc, Time now) {
    bool const runs_on = job && (job->state == JobState::running || job->state == JobState::suspended);
    if (notice_received_ && !runs_on) advance<Time>(judge_at_, now + wait_after_notice);
    bool const is_in_grace = runs_on && job->preempt_time;
    if (is_in_grace) watch_grace_period(*job, now_utc, now);
    if (grace_queries_left_ > 0 && !is_in_grace) {
        --grace_queries_left_;
        query_again_at_ = now + between_grace_queries;
    }
    if (!runs_on || stop_reason_ != StopReason::none) return RunAction::wait;
    watch_time_limit(*job, now_utc, now);
    if (!limit_near_at_ || now < *limit_near_at_) return RunAction::wait;
    limit_near_at_.reset();
    return ask(StopReason::time_limit);
}

RunAction RunStateMachine::on_time(Time now) {
    if (kill_at_ && now >= *kill_at_) return kill(now);
    if (kill_hung_at_ && now >= *kill_hung_at_) {
        was_hung_ = true;
        return kill(now);
    }
    if (cancel_at_ && now >= *cancel_at_) {
        cancel_at_.reset();
        return RunAction::cancel_step;
    }
    if (abandon_at_ && now >= *abandon_at_) {
        abandon_at_.reset();
        return RunAction::abandon;
    }
    if (judge_at_ && now >= *judge_at_) return RunAction::finish_run;
    if (query_again_at_ && now >= *query_again_at_) {
        query_again_at_.reset();
        return RunAction::query_job;
    }
    // The time limit may have been changed since the last query.
    if (limit_near_at_ && now >= *limit_near_at_) return RunAction::query_job;
    return RunAction::wait;
}

std::optional<RunStateMachine::Time> RunStateMachine::wakes_at() const {
    std::optional<Time> first;
    for (auto const& time :
         {kill_at_, kill_hung_at_, cancel_at_, abandon_at_, judge_at_, limit_near_at_, query_again_at_}) {
        if (time && (!first || *time < *first)) first = time;
    }
    return first;
}

RunAction RunStateMachine::ask(StopReason why) {
    stop_reason_ = why;
    limit_near_at_.reset();
    return RunAction::ask_to_stop;
}

RunAction RunStateMachine::kill(Time now) {
    if (was_killed_) return RunAction::wait;
    was_killed_ = true;
    kill_at_.reset();
    kill_hung_at_.reset();
    cancel_at_ = now + time_until_scancel;
    abandon_at_ = now + wait_after_kill;
    return RunAction::kill;
}

void RunStateMachine::watch_time_limit(slurm::JobStatus const& job, UtcTime now_utc, Time now) {
    limit_near_at_.reset();
    // During the grace period of a preemption end_time is the end of the grace period.
    if (!job.end_time || !job.start_time || job.preempt_time || ignores_time_limit_) return;
    auto const limit = seconds_between(*job.start_time, *job.end_time);
    if (limit <= 0s || limit >= limit_that_matters) return;
    limit_near_at_ = now + seconds_between(now_utc, *job.end_time) - time_limit_margin(limit);
}

/// Slurm shows the end of the grace period as the job's end. squeue hides it for a job without a time limit.
std::optional<UtcTime> RunStateMachine::end_of_grace_period(slurm::JobStatus const& job) const {
    if (job.end_time || !grace_) return job.end_time;
    return UtcTime{job.preempt_time->microseconds + std::chrono::microseconds(*grace_).count()};
}

/// At the end of the grace period Slurm requeues the job itself and then holds it back for two minutes. The
/// run ends before that, so that the supervisor can requeue the job; a step that can't be killed is left to
/// Slurm.
void RunStateMachine::watch_grace_period(slurm::JobStatus const& job, UtcTime now_utc, Time now) {
    grace_queries_left_ = 0;
    auto const end_time = end_of_grace_period(job);
    if (!end_time || was_killed_) return;
    auto const grace =
        std::chrono::duration_cast<std::chrono::milliseconds>(time_between(*job.preempt_time, *end_time));
    auto const end = now + time_between(now_utc, *end_time);
    auto const margin = grace_margin(std::max<std::chrono::milliseconds>(grace, 0ms));
    advance<Time>(kill_at_, end - margin);
    advance<Time>(judge_at_, end - margin / 3);
}

}  // namespace det::launch::supervisor
