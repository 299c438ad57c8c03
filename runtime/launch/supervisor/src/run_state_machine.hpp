#pragma once
#include <det/foundation/clock.hpp>
#include <det/lifecycle/run_end.hpp>
#include <det/protocol/desired_state.hpp>
#include <det/slurm/job.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace det::launch::supervisor {

/// What the supervisor has to do about a run now.
enum class RunAction {
    wait,
    query_job,    // ask Slurm about the job and pass the answer to on_job()
    ask_to_stop,  // ask its ranks to save their work and exit
    show_stacks,  // ask its wrappers for the stacks of its ranks
    kill,         // end its step by a signal to srun
    cancel_step,  // end its step by scancel: srun has not ended it
    abandon,      // give up its step, which did not end when it was killed
    finish_run,   // record the end of the run now, although its step has not ended: Slurm will end it
};

/// The state of one run between its start and its end. Pure: events and times go in, actions come out. The
/// end of the step is no event here: the supervisor handles it at once in every state.
class RunStateMachine {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// \param grace the grace period of the pool, if known. Slurm may not show when that of a job ends.
    explicit RunStateMachine(std::chrono::seconds preemption_timeout,
                             std::optional<std::chrono::seconds> grace = {})
        : preemption_timeout_(preemption_timeout), grace_(grace) {}

    /// The ranks are not asked to stop before the time limit: the batch script has --signal for that.
    void ignore_time_limit() { ignores_time_limit_ = true; }
    RunAction on_desired(DesiredState desired, Time now);
    /// The supervisor has received SIGTERM from Slurm: the job will end, for a reason that is not known yet.
    RunAction on_notice();
    /// Slurm has sent the notice to the run's tasks; the supervisor may not have received one. The job is
    /// queried until Slurm shows the end of the grace period, a few times at most.
    RunAction on_task_notice();
    /// The heartbeat of a node is overdue, or the slurmstepd of the step is gone there.
    RunAction on_silence(std::string const& host, Time now);
    /// The node is down, or cut off from the others: it can't end its part of the step, which is given up
    /// soon.
    RunAction on_lost_node(std::string const& host, Time now);
    /// Slurm does not create the run's step: srun, which waits for that, is ended, and given up soon.
    RunAction on_refused_step(Time now);
    /// After on_lost_node(): the processes on all other nodes have ended. srun would still wait for the lost
    /// one.
    void on_others_ended(Time now);
    /// The run has made no progress for too long. The stacks of the ranks are written before the step is
    /// killed. Has no effect on a run that was asked to stop or killed.
    RunAction on_hang(Time now);
    /// The run is idle and must end: its ranks are asked to stop. Has no effect on a run that was asked to
    /// stop or killed.
    RunAction on_idle(Time now);
    /// More nodes are idle: the ranks are asked to stop, and the job is requeued. Has no effect on a run that
    /// was asked to stop or killed.
    RunAction on_grow(Time now);
    /// Whether the run was asked to stop, or killed, or is about to be.
    bool is_ending() const {
        return was_killed_ || kill_hung_at_ || stop_reason_ != lifecycle::StopReason::none;
    }
    /// The job will be requeued because of another trial in it.
    RunAction on_other_trial(Time now);
    /// The search has ended the trial. Replaces the reason of an earlier request to stop.
    RunAction on_search_end(Time now);
    /// The search can't use what the program reports: its step is ended.
    RunAction on_invalid_report(Time now) { return kill(now); }
    /// The program has saved its work and asks for a requeue: its step is ended, as Slurm would do.
    RunAction on_requeue_request(Time now) { return kill(now); }
    /// The job as Slurm shows it; empty if Slurm does not answer or does not know the job.
    RunAction on_job(std::optional<slurm::JobStatus> const& job, UtcTime now_utc, Time now);
    /// Must be called at the time wakes_at().
    RunAction on_time(Time now);

    std::optional<Time> wakes_at() const;
    lifecycle::StopReason stop_reason() const { return stop_reason_; }
    bool was_killed() const { return was_killed_; }
    std::string const& silent_host() const { return silent_host_; }
    /// Whether the silent host is a lost node, which the next run must not use.
    bool is_node_lost() const { return is_node_lost_; }
    /// Whether the step was killed because the run hung, and not before for another reason.
    bool was_hung() const { return was_hung_; }
    bool notice_received() const { return notice_received_; }

private:
    RunAction ask(lifecycle::StopReason why);
    RunAction kill(Time now);
    void watch_time_limit(slurm::JobStatus const& job, UtcTime now_utc, Time now);
    std::optional<UtcTime> end_of_grace_period(slurm::JobStatus const& job) const;
    void watch_grace_period(slurm::JobStatus const& job, UtcTime now_utc, Time now);

    std::chrono::seconds preemption_timeout_;
    std::optional<std::chrono::seconds> grace_;
    lifecycle::StopReason stop_reason_ = lifecycle::StopReason::none;
    bool was_killed_ = false;
    bool was_hung_ = false;
    bool ignores_time_limit_ = false;
    std::string silent_host_;
    bool is_node_lost_ = false;
    bool notice_received_ = false;
    int grace_queries_left_ = 0;
    std::optional<Time> kill_at_, kill_hung_at_, cancel_at_, abandon_at_, judge_at_, limit_near_at_,
        query_again_at_;
};

/// How long before its time limit a job saves its work and is requeued: a tenth of the limit, at least 30 s
/// and at most 5 min.
std::chrono::seconds time_limit_margin(std::chrono::seconds limit);

}  // namespace det::launch::supervisor
