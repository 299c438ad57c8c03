// What follows when a run has ended: for its lane, for the other lanes, and for the job.
//
// - Each run ends. A step that is killed and does not end is cancelled by scancel after 5 s and given up
//   after 60 s. If Slurm is ending the job, the run is judged 3 s after the TERM without waiting for its
//   step, because KILL follows after KillWait, 30 s by default. For the same reason requests to slurmctld are
//   then repeated for 20 s, otherwise for 120 s. lifecycle/src/run_end.cpp limits the restarts, and
//   is_draining_ stays set once it is set.
// - The job is requeued, held or ended once, by finish_job(), after the outcomes of all lanes are known and
//   on disk.
// - Only the supervisor writes the `life` of its runs. Once a newer run of a trial exists, this job was cut
//   off and runs again elsewhere: abandon() kills the ranks, and the job and the files of the trial are not
//   touched any more.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "finish_job.hpp"
#include "job_supervisor.hpp"
#include "repeat_write.hpp"

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;

}  // namespace

void JobSupervisor::end_run(Lane& lane, int exit_code) {
    auto const snapshot = query_slurm(timeout());
    auto const judged = watched(fmt::format("the end of run {} is not recorded", to_string(lane.id())), &lane,
                                [&] { return lane.finish_run(exit_code, snapshot.job, snapshot.answered); });
    if (!judged) stop_on_error(judged.error());
    if (!lane.has_outcome()) return lane.wait_and_clear();  // the cause could not be determined
    was_completing_ = snapshot.job && snapshot.job->state == slurm::JobState::completing;
    is_in_grace_ = is_in_grace_ || (snapshot.job && snapshot.job->preempt_time);
    // A job that Slurm has requeued is COMPLETING without an end.
    is_preempted_ = is_in_grace_ || (was_completing_ && !snapshot.job->end_time);
    if (wanted_) wanted_->look_at_once();
    apply_outcome(lane);
}

/// Carries out the next action of a lane's run, for the lane and for the job.
void JobSupervisor::apply_outcome(Lane& lane) {
    auto const& outcome = *lane.outcome();
    auto const trial = lane.id().trial.index;
    // While Slurm ends the job there is no time for it; the next job of the user removes what is left.
    bool const leaves = outcome.next_action != NextAction::restart_in_place || is_draining_;
    if (leaves && !is_preempted_ && !was_completing_) {
        lane.remove_snapshots();
        lane.end_warm_start();
    }
    switch (outcome.next_action) {
        case NextAction::restart_in_place:
            lane.cancel_step();
            lane.wait_and_clear();
            if (!is_draining_) begin(lane, trial);
            return;
        case NextAction::stop:
            if (counts_against_max_restarts(outcome.cause) || outcome.cause == Cause::not_launched)
                exit_code_ = failure_code(lane);
            if (outcome.cause == Cause::checkpoint_damaged) exit_code_ = to_int(ExitCode::damaged);
            // A step that still runs means that Slurm is ending the job. After a step that could not be
            // started, the next one could not be started either. In both cases the lane takes no other
            // trial.
            if (outcome.cause != Cause::not_launched && lane.poll_exit()) return lane.wait_and_clear();
            break;
        case NextAction::requeue_held:
            if (batch_job_.spec.claims_trials() && batch_job_.desired() != DesiredState::pause)
                return release_trial(lane);
            break;
        case NextAction::requeue:
            stop_other_lanes(lane);
            break;
        case NextAction::left_to_slurm:
            if (outcome.cause == Cause::superseded) abandon();
            break;
    }
    is_draining_ = true;
}

/// The exit code of the job after a run that failed: that of a batch script is its own, as without us.
int JobSupervisor::failure_code(Lane const& lane) const {
    auto const own = lane.exit_code();
    return batch_job_.is_script() && own != 0 ? own : 1;
}

/// Gives up the claim of a paused trial. The other trials continue, and any job may claim this trial when
/// the user activates it.
void JobSupervisor::release_trial(Lane& lane) {
    auto const trial = lane.id().trial.index;
    lane.wait_and_clear();
    auto const given = watched(fmt::format("the claim of trial {} stays", trial), nullptr, [&] {
        return repeat_write(context_, AtNotice::give_up, [&] { return claims_.release(trial); });
    });
    if (!given) stop_on_error(given.error());
}

void JobSupervisor::stop_other_lanes(Lane const& but) {
    auto const now = context_.clock.steady_now();
    for (auto& lane : lanes_) {
        if (&lane != &but && lane.is_running()) perform(lane, lane.machine().on_other_trial(now));
    }
}

/// A newer run exists elsewhere: kills the ranks of this job, and writes nothing more.
void JobSupervisor::abandon() {
    is_superseded_ = true;
    for (auto& lane : lanes_) {
        if (!lane.is_idle()) lane.kill_step();
    }
}

void JobSupervisor::finish_this_job() {
    int const failure =
        finish_job(batch_job_, context_, claims_, lanes_,
                   {has_begun_, notice_received_, was_completing_, is_preempted_, slurmstepd_, timeout()});
    if (failure != 0) exit_code_ = failure;
}

/// The end of this batch script would end the next execution of the job, which waits or has begun on this
/// node: slurmctld takes it for the end of that one, and calls the job cancelled (measured with 22.05
/// and 24.11). Slurm ends this execution when its node registers again, as an orphan. There are two
/// cases: this node was cut off, and slurmctld has requeued the job; or slurmctld has crashed within
/// seconds after the start of the job, and has forgotten the start. Then it may also have forgotten that
/// the job, which is submitted with --hold, was released.
///
/// A slurmctld that does not answer learns of the end later: that ends nothing here. The limit is long,
/// because a node whose slurmd is dead does not register, and the job may wait for hours. Slurm
/// counts this node as free meanwhile, and no rank runs here.
void JobSupervisor::wait_for_end_by_slurm() {
    constexpr auto limit = 24h;
    constexpr std::chrono::seconds longest_interval = 30s;
    auto const give_up_at = context_.clock.steady_now() + limit;
    std::chrono::seconds interval = 2s;
    bool has_waited = false;  // the job, in the queue
    while (context_.clock.steady_now() < give_up_at) {
        auto const job = context_.slurm.query_job(batch_job_.job);
        if (job && (!*job || !would_end(**job, has_waited))) return;
        if (job && !std::exchange(has_waited, true)) {
            context_.log("the job will run again: this execution stays until Slurm ends it");
            if ((*job)->restarts == batch_job_.incarnation.restart_count) repeat_start(**job);
        }
        context_.clock.sleep_for(interval);
        interval = std::min(interval * 2, longest_interval);
    }
}

/// Lets a job start again whose start Slurm has forgotten. A start on the same node fails for good while
/// slurmd ends this execution ("Job credential revoked").
void JobSupervisor::repeat_start(slurm::JobStatus const& job) {
    constexpr auto until_ended = 15s;
    auto done = context_.slurm.start_not_before(batch_job_.job, until_ended);
    if (done && job.reason == "JobHeldUser" && batch_job_.desired() == DesiredState::run)
        done = context_.slurm.release(batch_job_.job);
    if (!done) context_.log(fmt::format("the job may not start again: {}", done.error().message));
}

/// Whether the end of this execution would end the next one.
/// \param has_waited whether the job was in the queue since. A start after a forgotten one has the same
///     restart count
bool JobSupervisor::would_end(slurm::JobStatus const& next, bool has_waited) const {
    auto const& own = batch_job_.incarnation;
    bool const runs_here = next.state == slurm::JobState::running && next.batch_host == own.batch_host &&
                           (has_waited || next.restarts != own.restart_count);
    return next.state == slurm::JobState::pending || next.state == slurm::JobState::configuring || runs_here;
}

}  // namespace det::launch::supervisor
