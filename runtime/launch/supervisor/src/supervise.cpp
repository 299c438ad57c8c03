// Runs the trials of one job. The batch script ends with `exec det-launch trial`, because under
// proctrack/cgroup Slurm's TERM reaches only the direct child of slurmstepd (measured with 22.05.8): a
// supervisor below a shell would never get it.
//
// One thread waits in poll(2). All state belongs to this thread, so nothing is locked. This file has the
// loop: it assigns trials to lanes until none is left. supervise_events.cpp waits for signals, ends of steps,
// files and timers, and asks the lanes what to do. supervise_outcomes.cpp does what follows after a run, and
// ends the job.
#include <det/launch/supervisor/supervise.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/search/search.hpp>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>

#include "dependencies.hpp"
#include "job_supervisor.hpp"
#include "lost_runs.hpp"
#include "repeat_write.hpp"
#include "requeue_job.hpp"
#include "script_signals.hpp"

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto dependency_interval = 60s;  // between two looks at the journals of other experiments
constexpr auto silence_limit_min = 5s;     // of the shared file system, at the beginning or end of a run

}  // namespace

JobSupervisor::JobSupervisor(BatchJob const& batch_job, SupervisorContext const& context,
                             SignalReader signals)
    : batch_job_(batch_job),
      context_(context),
      signals_(std::move(signals)),
      claims_(batch_job),
      hook_(batch_job.spec, context.environment, context.log) {
    if (search::sampler_sets_lengths(batch_job.spec.searcher)) wanted_.emplace(batch_job, context, claims_);
    for (int i = 0; i < batch_job.lanes(); ++i)
        lanes_.emplace_back(batch_job, context, claims_, ports_, hook_);
}

Result<int> JobSupervisor::run() {
    if (batch_job_.is_started_again) {
        if (auto const refused = take_over()) return *refused;
        DET_TRY(watched("the runs of the supervisor that was killed have no end", nullptr,
                        [&] { return end_own_lost_runs(); }));
    }
    DET_TRY_ASSIGN(auto const permission, watched("no trial has begun", nullptr,
                                                  [&] { return check_dependencies(batch_job_.spec); }));
    if (permission.refusal.empty() && !permission.waits_for.empty())
        return wait_in_queue(permission.waits_for);
    refusal_ = permission.refusal;
    schedule_next_check();
    schedule_preemption_check();
    follow_searches(context_.clock.steady_now());
    assign_trials();
    if (any_running()) query_job();
    while (any_running() || waits_for_trials()) {
        wait();
        handle_events();
        end_ended_runs();
        assign_trials();
    }
    if (goes_back_to_queue_) {
        hook_.wait();
        return wait_in_queue("what other tasks train");
    }
    if (!is_superseded_)
        watched("the job was not ended or queued again", nullptr, [&] { finish_this_job(); });
    // Waits for steps that still run: after a requeue Slurm ends them, and later this process.
    for (auto& lane : lanes_) lane.wait_and_clear();
    hook_.wait();
    if (is_superseded_) wait_for_end_by_slurm();
    return exit_code_;
}

/// Checks that the job still runs as it did when the first supervisor was killed. Slurm may have ended or
/// requeued it meanwhile.
/// \return the exit code if this supervisor must do nothing
std::optional<int> JobSupervisor::take_over() {
    auto const snapshot = query_slurm(timeout());
    if (!snapshot.answered) return to_int(codes::slurm_unreachable.exit);
    auto const& job = snapshot.job;
    if (job && job->state == slurm::JobState::running &&
        lifecycle::is_same_incarnation(batch_job_.incarnation, *job))
        return std::nullopt;
    context_.log("the job has ended, or has been queued again: the supervisor ends");
    wait_for_end_by_slurm();
    return 1;
}

/// Puts the job back into the queue for a minute, because an experiment or a trial for which it waits has
/// not ended.
int JobSupervisor::wait_in_queue(std::string const& what) {
    context_.log(fmt::format("{} has not ended: the job waits in the queue", what));
    auto const queued = requeue_job(batch_job_, {.timeout = timeout()}, context_);
    if (!queued) {
        context_.log(fmt::format("error: {} [{}]", queued.error().message, queued.error().code.name));
        return to_int(queued.error().code.exit);
    }
    if (!*queued) (void)context_.slurm.start_not_before(batch_job_.job, dependency_interval);
    return 0;
}

Status JobSupervisor::end_own_lost_runs() {
    DET_TRY_ASSIGN(auto const own, claims_.list_own());
    return end_lost_runs(batch_job_, context_, own);
}

StorageWatch::Settings JobSupervisor::describe_watch(std::string const& what, Lane const* but) const {
    auto const limit = std::max<std::chrono::milliseconds>(storage_timeout(context_), silence_limit_min);
    auto const message = fmt::format("the shared file system has not answered for {} s: {}",
                                     std::chrono::floor<std::chrono::seconds>(limit).count(), what);
    std::vector<UniqueFd> steps;
    for (auto const& lane : lanes_) {
        if (&lane == but || lane.pidfd() < 0) continue;
        steps.emplace_back(::fcntl(lane.pidfd(), F_DUPFD_CLOEXEC, 0));
    }
    return {
        batch_job_.experiment.path(), limit, std::move(steps),
        [this, message] { context_.log(message + ". Other trials of this job run: it waits"); },
        [this, message] {
            context_.end_process({codes::file_system, message,
                                  "when it answers, 'det-submit experiment activate' continues the trials"});
        }};
}

void JobSupervisor::end_ended_runs() {
    for (auto& lane : lanes_) {
        if (!lane.is_running()) continue;
        if (auto const exit_code = lane.poll_exit()) end_run(lane, *exit_code);
    }
}

void JobSupervisor::assign_trials() {
    if (wanted_) return assign_wanted_trials();
    for (auto& lane : lanes_) {
        while (lane.is_idle() && !is_draining_) {
            auto const trial = watched("no further trial begins", nullptr, [&] {
                return repeat_write(context_, AtNotice::give_up, [&] { return claims_.claim_next(); });
            });
            if (!trial) return stop_on_error(trial.error());
            if (!*trial) return;
            begin(lane, **trial);
        }
    }
}

/// The same if the sampler says which trials train, and how far.
void JobSupervisor::assign_wanted_trials() {
    for (auto& lane : lanes_) {
        while (lane.is_idle() && !is_draining_ && !notice_received_ && wanted_->is_time()) {
            auto const meanwhile = [this, before = notices_] { return look_meanwhile(before); };
            auto next = watched("no further trial begins", nullptr,
                                [&] { return wanted_->claim_next(refusal_, meanwhile); });
            if (!next) return stop_on_error(next.error());
            if (!*next) break;
            begin(lane, (*next)->trial, std::move((*next)->beginning));
            reads_late_ = true;  // the desired state may have changed since the trial was claimed
        }
    }
}

/// Whether this job has no trial to train now, and waits for what other tasks train.
bool JobSupervisor::waits_for_trials() {
    if (!wanted_ || is_draining_ || is_superseded_) return false;
    auto const idle = wanted_->judge_idle(notice_received_);
    goes_back_to_queue_ = idle == WantedTrials::Idle::goes_back_to_queue;
    return idle == WantedTrials::Idle::waits;
}

/// Handles events while a sampler is asked. Returns whether the question goes on.
bool JobSupervisor::look_meanwhile(int notices_before) {
    handle_events();
    end_ended_runs();
    return notices_ == notices_before && !is_draining_;
}

void JobSupervisor::begin(Lane& lane, std::uint32_t trial, std::optional<TrialBeginning> known) {
    has_begun_ = true;
    auto const notices_before = notices_;
    bool has_waited = false;  // for the sampler
    auto const meanwhile = [&] {
        has_waited = true;
        return look_meanwhile(notices_before);
    };
    auto const begun = watched(fmt::format("no run of trial {} has begun", trial), &lane,
                               [&] { return lane.begin(trial, refusal_, meanwhile, std::move(known)); });
    // A desired state that has changed meanwhile may be that of this trial.
    reads_late_ = reads_late_ || has_waited;
    if (!begun) return stop_on_error(begun.error());
    if (lane.was_stopped_before_step()) return end_before_step(lane, notices_before);
    // The run has ended without a step.
    if (lane.has_outcome()) {
        if (lane.outcome()->cause == Cause::interrupted) exit_code_ = 1;  // the sampler has failed
        apply_outcome(lane);
    }
    if (lane.has_unhealthy_nodes()) end_run(lane, 1);
}

/// Ends a run that has no step because the job ends or the user stops the trial. The lane's state machine
/// knows what the user wants.
/// \param notices_before how many notices of Slurm had come before the run began
void JobSupervisor::end_before_step(Lane& lane, int notices_before) {
    if (take_signals()) reads_late_ = true;  // the user may have stopped other trials of the job too
    if (notices_ != notices_before)
        lane.machine().on_notice();
    else if (is_draining_)
        lane.machine().on_other_trial(context_.clock.steady_now());
    end_run(lane, 128 + SIGTERM);
}

/// Called if a file of the experiment can't be read or written. No new run starts; running ones continue.
void JobSupervisor::stop_on_error(Error const& error) {
    context_.log(fmt::format("error: {} [{}]", error.message, error.code.name));
    is_draining_ = true;
    exit_code_ = to_int(error.code.exit);
}

Result<int> supervise_trials(BatchJob const& batch_job, SupervisorContext const& context) {
    DET_TRY(find_storage_timeout(context.environment, {}));
    // TERM is Slurm's notice; det-submit sends URG when the desired state has changed. Users' scripts may
    // send USR2, which must not end this process.
    auto taken = signal_set({SIGTERM, SIGURG, SIGUSR2});
    if (batch_job.is_script()) {
        taken = script_signals();
        ::sigaddset(&taken, SIGURG);
    }
    DET_TRY_ASSIGN(auto signals, SignalReader::open(taken, SignalReader::AtEnd::stay_blocked));
    return JobSupervisor(batch_job, context, std::move(signals)).run();
}

}  // namespace det::launch::supervisor
