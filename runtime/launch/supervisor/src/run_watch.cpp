#include <det/launch/supervisor/run_watch.hpp>

#include <algorithm>

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;
using lifecycle::Asked;
using slurm::JobState;

// KillWait may be as short as 5 s: what the run ended by must be on disk before Slurm kills us too.
constexpr auto wait_after_notice = 3s;
// srun ends a step within seconds, unless it has lost a node: it would wait for that for ever.
constexpr auto wait_after_kill = 60s;
constexpr auto limit_that_matters = std::chrono::hours(24) * 366;  // Slurm's "UNLIMITED" is a year

std::chrono::seconds seconds_between(UtcTime from, UtcTime to) {
    return std::chrono::floor<std::chrono::seconds>(
        std::chrono::microseconds(to.microseconds - from.microseconds));
}

}  // namespace

std::chrono::seconds time_limit_margin(std::chrono::seconds limit) {
    return std::clamp(limit / 10, 30s, 300s);
}

Act RunWatch::on_desired(Desired desired, Time now) {
    if (was_killed_ || desired == Desired::run) return Act::wait;
    if (desired == Desired::kill) return kill(now);
    if (!kill_at_) kill_at_ = now + preemption_timeout_;
    return asked_ == Asked::nothing ? ask(Asked::user) : Act::wait;
}

Act RunWatch::on_notice() {
    notice_received_ = true;
    return Act::look_at_job;
}

Act RunWatch::on_silence(std::string const& host, Time now) {
    if (was_killed_) return Act::wait;
    silent_host_ = host;
    return kill(now);
}

Act RunWatch::on_neighbour(Time now) {
    if (!kill_at_) kill_at_ = now + preemption_timeout_;
    return asked_ == Asked::nothing ? ask(Asked::neighbour) : Act::wait;
}

Act RunWatch::on_job(std::optional<slurm::JobStatus> const& job, UtcTime now_utc, Time now) {
    bool const runs_on = job && (job->state == JobState::running || job->state == JobState::suspended);
    if (notice_received_ && !runs_on && !judge_at_) judge_at_ = now + wait_after_notice;
    if (!runs_on || asked_ != Asked::nothing) return Act::wait;
    mind_time_limit(*job, now_utc, now);
    if (!limit_near_at_ || now < *limit_near_at_) return Act::wait;
    limit_near_at_.reset();
    return ask(Asked::time_limit);
}

Act RunWatch::on_time(Time now) {
    if (kill_at_ && now >= *kill_at_) return kill(now);
    if (abandon_at_ && now >= *abandon_at_) {
        abandon_at_.reset();
        return Act::abandon;
    }
    if (judge_at_ && now >= *judge_at_) return Act::judge;
    // Somebody may have moved the limit since.
    if (limit_near_at_ && now >= *limit_near_at_) return Act::look_at_job;
    return Act::wait;
}

std::optional<RunWatch::Time> RunWatch::wakes_at() const {
    std::optional<Time> first;
    for (auto const& time : {kill_at_, abandon_at_, judge_at_, limit_near_at_}) {
        if (time && (!first || *time < *first)) first = time;
    }
    return first;
}

Act RunWatch::ask(Asked why) {
    asked_ = why;
    limit_near_at_.reset();
    return Act::ask_to_stop;
}

Act RunWatch::kill(Time now) {
    if (was_killed_) return Act::wait;
    was_killed_ = true;
    kill_at_.reset();
    abandon_at_ = now + wait_after_kill;
    return Act::kill;
}

void RunWatch::mind_time_limit(slurm::JobStatus const& job, UtcTime now_utc, Time now) {
    limit_near_at_.reset();
    // In grace the end is the end of the grace.
    if (!job.end_time || !job.start_time || job.preempt_time) return;
    auto const limit = seconds_between(*job.start_time, *job.end_time);
    if (limit <= 0s || limit >= limit_that_matters) return;
    limit_near_at_ = now + seconds_between(now_utc, *job.end_time) - time_limit_margin(limit);
}

}  // namespace det::launch::supervisor
