// Runs the trials of one job. The batch script ends with `exec det-launch trial`, because under
// proctrack/cgroup Slurm's TERM reaches only the direct child of slurmstepd (measured with 22.05.8): a
// supervisor below a shell would never get it.
//
// One thread waits in poll(2) for signals (TERM is Slurm's notice; det-submit sends URG when it has changed a
// desired state), for the ends of steps (pidfds), for files of the runs (inotify) and for timers. All state
// belongs to this thread, so nothing is locked. For each event every running Lane's RunStateMachine, which is
// pure, returns an action, and perform() carries it out. If several machines want to know the job's state,
// Slurm is asked once.
//
// - Writers: only the supervisor writes the `life` of its runs. Once a newer run of a trial exists, this job
//   was cut off and runs again elsewhere: abandon() kills the ranks, and the job and the files of the trial
//   are not touched any more.
// - Lost events: signals and inotify events may be lost, and inotify does not see other hosts. So the files
//   are also read at each periodic check, every 30 s by default, at another time in each job.
// - End: each run ends. A step that is killed and does not end is cancelled by scancel after 5 s and given up
//   after 60 s. If Slurm is ending the job, the run is judged 3 s after the TERM without waiting for its
//   step, because KILL follows after KillWait, 30 s by default. For the same reason requests to slurmctld are
//   then repeated for 20 s, otherwise for 120 s. lifecycle/src/run_end.cpp limits the restarts, and
//   is_draining_ stays set once it is set.
// - The job is requeued, held or ended once, by finish_job(), after the outcomes of all lanes are known and
//   on disk.
#include <det/foundation/polling.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/sampler/load_draw.hpp>
#include <det/search/asha.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <list>
#include <poll.h>
#include <type_traits>

#include "batch_parent.hpp"
#include "claims.hpp"
#include "dependencies.hpp"
#include "finish_job.hpp"
#include "lost_runs.hpp"
#include "repeat_write.hpp"
#include "requeue_job.hpp"
#include "retry_until.hpp"
#include "script_signals.hpp"
#include "storage_watch.hpp"
#include "wanted_trials.hpp"

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;
using Time = RunStateMachine::Time;

constexpr auto dependency_interval = 60s;  // between two looks at the journals of other experiments
constexpr auto query_timeout = 6s;         // the query is repeated later
// How often the supervisor reads what the trials have reported to their search.
constexpr auto search_interval = 1s;
constexpr auto silence_limit_min = 5s;       // of the shared file system, at the beginning or end of a run
constexpr auto between_storage_probes = 5s;  // while the shared file system does not answer

/// The job as Slurm shows it, if slurmctld answers.
struct JobSnapshot {
    bool answered = false;
    std::optional<slurm::JobStatus> job;
};

/// The main loop of the supervisor: assigns trials to lanes, waits for signals, steps and timers, and carries
/// out the actions of the lanes' state machines.
class JobSupervisor {
public:
    JobSupervisor(BatchJob const& batch_job, SupervisorContext const& context, SignalReader signals)
        : batch_job_(batch_job),
          context_(context),
          signals_(std::move(signals)),
          claims_(batch_job),
          hook_(batch_job.spec, context.environment, context.log) {
        if (search::sampler_sets_lengths(batch_job.spec.searcher))
            wanted_.emplace(batch_job, context, claims_);
        for (int i = 0; i < batch_job.lanes(); ++i)
            lanes_.emplace_back(batch_job, context, claims_, ports_, hook_);
    }

    Result<int> run() {
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

private:
    /// Checks that the job still runs as it did when the first supervisor was killed. Slurm may have ended or
    /// requeued it meanwhile.
    /// \return the exit code if this supervisor must do nothing
    std::optional<int> take_over() {
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
    int wait_in_queue(std::string const& what) {
        context_.log(fmt::format("{} has not ended: the job waits in the queue", what));
        auto const queued = requeue_job(batch_job_, {.timeout = timeout()}, context_);
        if (!queued) {
            context_.log(fmt::format("error: {} [{}]", queued.error().message, queued.error().code.name));
            return to_int(queued.error().code.exit);
        }
        if (!*queued) (void)context_.slurm.start_not_before(batch_job_.job, dependency_interval);
        return 0;
    }

    /// Does work on files at the beginning or end of a run. If the shared file system does not answer for too
    /// long meanwhile, a thread ends this process, because a call that does not return can't be given up. The
    /// steps of other lanes are awaited first.
    /// \param what is not done then
    /// \param lane whose step is not awaited
    template <class Work>
    std::invoke_result_t<Work const&> watched(std::string const& what, Lane const* lane, Work const& work) {
        StorageWatch const watch(describe_watch(what, lane));
        return work();
    }

    StorageWatch::Settings describe_watch(std::string const& what, Lane const* but) const {
        auto const limit = std::max<std::chrono::milliseconds>(storage_timeout(context_), silence_limit_min);
        auto const message = fmt::format("the shared file system has not answered for {} s: {}",
                                         std::chrono::floor<std::chrono::seconds>(limit).count(), what);
        std::vector<UniqueFd> steps;
        for (auto const& lane : lanes_) {
            if (&lane == but || lane.pidfd() < 0) continue;
            steps.emplace_back(::fcntl(lane.pidfd(), F_DUPFD_CLOEXEC, 0));
        }
        return {batch_job_.experiment.path(), limit, std::move(steps),
                [this, message] { context_.log(message + ". Other trials of this job run: it waits"); },
                [this, message] {
                    context_.end_process(
                        {codes::file_system, message,
                         "when it answers, 'det-submit experiment activate' continues the trials"});
                }};
    }

    Status end_own_lost_runs() {
        DET_TRY_ASSIGN(auto const own, claims_.list_own());
        return end_lost_runs(batch_job_, context_, own);
    }

    bool any_running() const {
        return std::any_of(lanes_.begin(), lanes_.end(), [](auto const& lane) { return lane.is_running(); });
    }

    void end_ended_runs() {
        for (auto& lane : lanes_) {
            if (!lane.is_running()) continue;
            if (auto const exit_code = lane.poll_exit()) end_run(lane, *exit_code);
        }
    }

    void assign_trials() {
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
    void assign_wanted_trials() {
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
    bool waits_for_trials() {
        if (!wanted_ || is_draining_ || is_superseded_) return false;
        auto const idle = wanted_->judge_idle(notice_received_);
        goes_back_to_queue_ = idle == WantedTrials::Idle::goes_back_to_queue;
        return idle == WantedTrials::Idle::waits;
    }

    /// Handles events while a sampler is asked. Returns whether the question goes on.
    bool look_meanwhile(int notices_before) {
        handle_events();
        end_ended_runs();
        return notices_ == notices_before && !is_draining_;
    }

    void begin(Lane& lane, std::uint32_t trial, std::optional<TrialBeginning> known = {}) {
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
        if (lane.has_no_answer()) return end_unanswered(lane, notices_ != notices_before);
        if (lane.has_outcome()) {  // the run has ended without a step
            if (lane.outcome()->cause == Cause::interrupted) exit_code_ = 1;  // the sampler has failed
            apply_outcome(lane);
        }
        if (lane.has_unhealthy_nodes()) end_run(lane, 1);
    }

    /// Ends a run that has no step because the job ends.
    void end_unanswered(Lane& lane, bool has_notice) {
        if (has_notice)
            lane.machine().on_notice();
        else
            lane.machine().on_other_trial(context_.clock.steady_now());
        end_run(lane, 128 + SIGTERM);
    }

    /// Called if a file of the experiment can't be read or written. No new run starts; running ones continue.
    void stop_on_error(Error const& error) {
        context_.log(fmt::format("error: {} [{}]", error.message, error.code.name));
        is_draining_ = true;
        exit_code_ = to_int(error.code.exit);
    }

    void wait() {
        std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}};
        auto wake = std::min({next_check_at_, next_search_at_, next_preemption_check_at_});
        for (auto& lane : lanes_) {
            if (!lane.is_running()) continue;
            polled.push_back({lane.pidfd(), POLLIN, 0});
            polled.push_back({lane.notice_fd(), POLLIN, 0});
            polled.push_back({lane.nodes_fd(), POLLIN, 0});
            wake = std::min(wake, lane.machine().wakes_at().value_or(wake));
            wake = std::min(wake, lane.next_hang_check().value_or(wake));
            wake = std::min(wake, lane.next_idle_check().value_or(wake));
            wake = std::min(wake, lane.next_grow_check().value_or(wake));
        }
        ::poll(polled.data(), polled.size(), poll_timeout_ms(wake, context_.clock.steady_now()));
    }

    void handle_events() {
        bool has_notice = false, is_woken = false;
        while (auto const info = signals_.take()) {
            auto const number = static_cast<int>(info->ssi_signo);
            (number == SIGTERM ? has_notice : is_woken) = true;
            if (batch_job_.is_script() && number != SIGURG) signal_scripts(number);
        }
        auto const now = context_.clock.steady_now();
        notice_received_ = notice_received_ || has_notice;
        if (has_notice) ++notices_;
        if (has_notice) for_running_lanes([](Lane& lane) { return lane.machine().on_notice(); });
        if (storage_answers())
            read_files(is_woken, now);
        else
            reads_late_ = reads_late_ || is_woken;
        for_running_lanes([&](Lane& lane) { return lane.look_at_nodes(now); });
        for_running_lanes([&](Lane& lane) { return lane.machine().on_time(now); });
        watch_for_preemption(now);
    }

    /// Slurm signals the batch process, which stands for the user's script.
    void signal_scripts(int number) {
        for (auto& lane : lanes_) {
            if (lane.is_running()) lane.signal_script(number);
        }
    }

    /// At the start of a grace period Slurm signals the steps of the job, but not the batch step, in which a
    /// batch script may train: Slurm is asked from time to time.
    void watch_for_preemption(Time now) {
        if (now < next_preemption_check_at_) return;
        schedule_preemption_check();
        if (any_running()) query_job();
    }

    void schedule_preemption_check() {
        auto const notice = batch_job_.spec.notice_s;
        if (!batch_job_.is_script() || !notice || *notice == 0) return;
        auto const interval = std::clamp(std::chrono::seconds(*notice) / 6, 3s, 30s);
        next_preemption_check_at_ = context_.clock.steady_now() + interval;
    }

    /// Whether the files of the runs can be opened. If not, they are read later: opening one would block this
    /// process, which then could not pass on a notice.
    bool storage_answers() {
        auto const first = std::ranges::find_if(lanes_, &Lane::is_running);
        bool const answers = first == lanes_.end() || first->storage_answers();
        if (!answers) delay_reading();
        has_answered_ = answers;
        return answers;
    }

    void delay_reading() {
        if (has_answered_)
            context_.log("the shared file system does not answer: files are read when it does");
        for (auto& lane : lanes_) {
            if (lane.is_running()) lane.restart_heartbeats();
        }
        next_check_at_ = context_.clock.steady_now() + between_storage_probes;
        if (has_search_) next_search_at_ = next_check_at_;
    }

    /// Looks for requests in the files of the runs, and for what the ranks have reported.
    void read_files(bool is_woken, Time now) {
        is_woken = std::exchange(reads_late_, false) || is_woken;
        bool const is_time = now >= next_check_at_;
        auto const check = is_time ? RunFileWatch::Check::periodic : RunFileWatch::Check::events;
        for_running_lanes([&](Lane& lane) {
            return lane.take_task_notice(check) ? lane.machine().on_task_notice() : RunAction::wait;
        });
        for_running_lanes([&](Lane& lane) {
            return lane.take_requeue_request(check) ? lane.machine().on_requeue_request(now)
                                                    : RunAction::wait;
        });
        if (is_time) check_heartbeats(now);
        if (is_woken || is_time) {
            schedule_next_check();
            for_running_lanes([&](Lane& lane) { return lane.machine().on_desired(lane.desired(), now); });
        }
        if (is_woken || now >= next_search_at_) follow_searches(now);
        for_running_lanes([&](Lane& lane) { return lane.check_hang(now); });
        for_running_lanes([&](Lane& lane) { return lane.check_idle(now); });
        for_running_lanes([&](Lane& lane) { return lane.check_grow(now); });
    }

    void follow_searches(Time now) {
        if (!has_search_) return;
        next_search_at_ = now + search_interval;
        for_running_lanes([](Lane& lane) { return lane.follow_search(); });
    }

    void check_heartbeats(Time now) {
        // If this process was itself delayed, for example by the shared file system, the age of the
        // heartbeats means nothing.
        bool const on_time = now - next_check_at_ < check_interval_ / 3;
        for_running_lanes([&](Lane& lane) {
            auto const host = lane.check_for_silent_host(on_time);
            return host ? lane.machine().on_silence(*host, now) : RunAction::wait;
        });
    }

    /// Calls `ask` for each running lane and performs the actions; Slurm is asked once for all lanes.
    template <class Ask>
    void for_running_lanes(Ask ask) {
        bool must_query = false;
        for (auto& lane : lanes_) {
            if (!lane.is_running()) continue;
            auto const act = ask(lane);
            if (act == RunAction::query_job) must_query = true;
            perform(lane, act);
        }
        if (must_query) query_job();
    }

    void perform(Lane& lane, RunAction act) {
        if (act == RunAction::ask_to_stop) lane.ask_to_stop();
        if (act == RunAction::show_stacks) lane.show_stacks();
        if (act == RunAction::kill) lane.kill_step();
        if (act == RunAction::cancel_step) lane.cancel_step();
        if (act == RunAction::abandon) lane.abandon_step();
        if (act == RunAction::finish_run) end_run(lane, 128 + SIGTERM);
    }

    void query_job() {
        auto const snapshot = query_slurm(query_timeout);
        auto const now = context_.clock.steady_now();
        auto const now_utc = context_.clock.now();
        for (auto& lane : lanes_) {
            if (!lane.is_running()) continue;
            lane.note_allocation(snapshot.job);
            if (batch_job_.is_script() && is_in_grace(snapshot.job)) lane.notify_script();
            perform(lane, lane.machine().on_job(snapshot.job, now_utc, now));
        }
    }

    static bool is_in_grace(std::optional<slurm::JobStatus> const& job) {
        return job && job->state == slurm::JobState::running && job->preempt_time;
    }

    /// Asks Slurm about the job. Once Slurm is ending it the answer does not change any more, and Slurm is
    /// not asked again: many jobs may be preempted at once, and slurmctld limits the requests of a user
    /// (rl_enable).
    JobSnapshot query_slurm(std::chrono::seconds timeout) {
        if (ending_job_) return {true, ending_job_};
        auto job = retry_until(context_, timeout, [&] { return context_.slurm.query_job(batch_job_.job); });
        if (job && *job && lifecycle::is_ending(batch_job_.incarnation, **job)) ending_job_ = **job;
        if (job) return {true, *std::move(job)};
        context_.log(fmt::format("cannot ask Slurm about job {}: {}", slurm::to_string(batch_job_.job),
                                 job.error().message));
        return {false, std::nullopt};
    }

    void end_run(Lane& lane, int exit_code) {
        auto const snapshot = query_slurm(timeout());
        auto const judged =
            watched(fmt::format("the end of run {} is not recorded", to_string(lane.id())), &lane,
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
    void apply_outcome(Lane& lane) {
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
    int failure_code(Lane const& lane) const {
        auto const own = lane.exit_code();
        return batch_job_.is_script() && own != 0 ? own : 1;
    }

    /// Gives up the claim of a paused trial. The other trials continue, and any job may claim this trial when
    /// the user activates it.
    void release_trial(Lane& lane) {
        auto const trial = lane.id().trial.index;
        lane.wait_and_clear();
        auto const given = watched(fmt::format("the claim of trial {} stays", trial), nullptr, [&] {
            return repeat_write(context_, AtNotice::give_up, [&] { return claims_.release(trial); });
        });
        if (!given) stop_on_error(given.error());
    }

    /// A newer run exists elsewhere: kills the ranks of this job, and writes nothing more.
    void abandon() {
        is_superseded_ = true;
        for (auto& lane : lanes_) {
            if (!lane.is_idle()) lane.kill_step();
        }
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
    void wait_for_end_by_slurm() {
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
    void repeat_start(slurm::JobStatus const& job) {
        constexpr auto until_ended = 15s;
        auto done = context_.slurm.start_not_before(batch_job_.job, until_ended);
        if (done && job.reason == "JobHeldUser" && batch_job_.desired() == DesiredState::run)
            done = context_.slurm.release(batch_job_.job);
        if (!done) context_.log(fmt::format("the job may not start again: {}", done.error().message));
    }

    /// Whether the end of this execution would end the next one.
    /// \param has_waited whether the job was in the queue since. A start after a forgotten one has the same
    ///     restart count
    bool would_end(slurm::JobStatus const& next, bool has_waited) const {
        auto const& own = batch_job_.incarnation;
        bool const runs_here = next.state == slurm::JobState::running && next.batch_host == own.batch_host &&
                               (has_waited || next.restarts != own.restart_count);
        return next.state == slurm::JobState::pending || next.state == slurm::JobState::configuring ||
               runs_here;
    }

    void stop_other_lanes(Lane const& but) {
        auto const now = context_.clock.steady_now();
        for (auto& lane : lanes_) {
            if (&lane != &but && lane.is_running()) perform(lane, lane.machine().on_other_trial(now));
        }
    }

    void finish_this_job() {
        int const failure = finish_job(
            batch_job_, context_, claims_, lanes_,
            {has_begun_, notice_received_, was_completing_, is_preempted_, slurmstepd_, timeout()});
        if (failure != 0) exit_code_ = failure;
    }

    /// After SIGTERM, and after a grace period, KillWait seconds (30 by default) remain to record how the job
    /// ends.
    std::chrono::seconds timeout() const { return notice_received_ || is_in_grace_ ? 20s : 120s; }

    void schedule_next_check() {
        // The interval differs per job, so that an experiment's supervisors do not check at the same time.
        auto const spread = std::hash<std::string>{}(slurm::to_string(batch_job_.job)) % 100;
        next_check_at_ = context_.clock.steady_now() + check_interval_ * (90 + spread / 5) / 100;
    }

    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    // The desired state is in files, and det-submit sends URG when it changes one. The periodic check is for
    // lost signals, and for overdue heartbeats of nodes that are not heard over the network.
    std::chrono::milliseconds const check_interval_ =
        silence_limit([this](auto name) { return context_.environment.find(name); }) /
        HeartbeatMonitor::checks_until_silent;
    bool const has_search_ =
        search::is_asha(batch_job_.spec.searcher.name) || sampler::is_custom(batch_job_.spec);
    pid_t const slurmstepd_ = find_batch_parent(batch_job_.batch_process);
    SignalReader signals_;
    Claims claims_;
    std::optional<WantedTrials> wanted_;  // if the sampler sets lengths
    PortReservations ports_;
    events::EventHook hook_;
    std::list<Lane> lanes_;
    Time next_check_at_;
    Time next_search_at_ = Time::max();
    Time next_preemption_check_at_ = Time::max();  // for batch scripts
    std::string refusal_;                          // why no step may start here; empty: steps may
    bool has_answered_ = true;                     // the shared file system, when it was last asked
    bool reads_late_ = false;                      // a desired state has changed while it did not answer
    bool has_begun_ = false;
    bool goes_back_to_queue_ = false;  // this job waits there for what other tasks train
    bool is_draining_ = false;         // no new run starts in this job
    bool is_superseded_ = false;       // a newer run exists elsewhere: this process must not change the job
    bool notice_received_ = false;     // Slurm has sent SIGTERM
    int notices_ = 0;                  // how many SIGTERMs were taken
    bool is_in_grace_ = false;         // Slurm preempts the job
    bool is_preempted_ = false;        // Slurm preempts the job, or has requeued it
    bool was_completing_ = false;      // the job was COMPLETING at the last query
    std::optional<slurm::JobStatus> ending_job_;  // the answer that showed that Slurm is ending the job
    int exit_code_ = 0;
};

}  // namespace

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
