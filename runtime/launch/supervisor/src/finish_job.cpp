#include "finish_job.hpp"

#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/reversed.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/trial_replacements.hpp>
#include <det/launch/supervisor/job_output.hpp>
#include <det/protocol/host_list.hpp>
#include <det/retention/collect_garbage.hpp>
#include <det/retention/expired_logs.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "batch_parent.hpp"
#include "requeue_job.hpp"
#include "resume_point.hpp"

namespace det::launch::supervisor {
namespace {

/// Whether all trials of the experiment have ended. Checks the last one first, because it is the most likely
/// one to be unfinished.
Result<bool> all_trials_ended(ExperimentLayout const& experiment, ExperimentSpec const& spec) {
    DET_TRY_ASSIGN(auto const replacements, journal::load_replacements(experiment, spec.trial_count));
    std::vector<std::uint32_t> trials;
    for (std::uint32_t trial = 0; trial < spec.trial_count; ++trial) trials.push_back(trial);
    for (auto const& [trial, replaced] : replacements) trials.push_back(trial);
    for (auto const trial : reversed(trials)) {
        if (journal::find_replacement(replacements, trial)) continue;
        DET_TRY_ASSIGN(bool const has_ended, has_ended(experiment.trial(trial), spec.first_run_of(trial)));
        if (!has_ended) return false;
    }
    return true;
}

Status collect(BatchJob const& batch_job, SupervisorContext const& context) {
    // The specification is read again: the experiment may have been continued since this job began.
    DET_TRY_ASSIGN(auto const spec, journal::load_spec(batch_job.experiment));
    DET_TRY_ASSIGN(bool const has_ended, all_trials_ended(batch_job.experiment, spec));
    if (!has_ended) return Ok{};
    DET_TRY_ASSIGN(auto const events, journal::load_events(batch_job.experiment.events()));
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(spec, context.environment));
    retention::GcOptions const options{retention::policy_of(spec, events), context.clock.now()};
    DET_TRY_ASSIGN(auto const report,
                   retention::collect_garbage(RootLayout(spec.root), batch_job.experiment, *store, options));
    if (!report.removed.empty())
        context.log(fmt::format("removed {}, kept {}", count_text(report.removed.size(), "checkpoint"),
                                report.kept.size()));
    if (!report.uncommitted.empty())
        context.log(fmt::format("removed the remains of {} without a commit",
                                count_text(report.uncommitted.size(), "checkpoint")));
    for (auto const& failure : report.failures)
        context.log(fmt::format("a checkpoint stays: {}", failure.message));
    return Ok{};
}

/// Removes the expired logs of all experiments (retention_policy), at most once a day.
void remove_old_logs(BatchJob const& batch_job, SupervisorContext const& context) {
    auto const done =
        retention::remove_expired_logs_daily(RootLayout(batch_job.spec.root), context.clock.now());
    if (!done) context.log(fmt::format("old logs stay: {}", done.error().message));
}

/// Removes the checkpoints that the experiment does not keep, if all of its trials have ended. Two jobs may
/// do this at the same time. If it fails, the remaining checkpoints stay.
void collect_garbage_if_done(BatchJob const& batch_job, SupervisorContext const& context) {
    auto const done = collect(batch_job, context);
    if (!done) context.log(fmt::format("all checkpoints stay: {}", done.error().message));
}

class JobFinisher {
public:
    JobFinisher(BatchJob const& batch_job, SupervisorContext const& context, Claims& claims,
                std::list<Lane>& lanes, JobFacts const& end)
        : batch_job_(batch_job), context_(context), claims_(claims), lanes_(lanes), end_(end) {}

    int run() {
        if (any_follows(NextAction::requeue)) {
            requeue(RequeueRequest::Start::soon);
        } else if (any_follows(NextAction::requeue_held) || is_paused_before_its_trials()) {
            requeue(RequeueRequest::Start::held);
        } else {
            finish();
        }
        return exit_code_;
    }

private:
    /// Whether the user has paused the experiment before this job has begun a trial, or before it has claimed
    /// all of them. Then the job must stay in the queue, because no other job runs the remaining trials.
    bool is_paused_before_its_trials() const {
        if (desired_of_first() != DesiredState::pause) return false;
        return !end_.has_begun || claims_.has_unclaimed().value_or(true);
    }

    /// Lets the job end, because none of its runs asks for a requeue.
    void finish() {
        if (!end_.has_begun) context_.log(std::string(nothing_left_line));
        if (end_.was_completing && was_requeued_by_others()) {
            advance_start();
            restore_time_limit(batch_job_, context_);
        }
        if (!end_.notice_received) {
            collect_garbage_if_done(batch_job_, context_);
            remove_old_logs(batch_job_, context_);
        }
        if (find_batch_parent(batch_job_.batch_process) != end_.slurmstepd) {
            end_job("the slurmstepd of this script is gone: the job is ended from here");
        } else if (end_.is_preempted && all_trials_have_ended()) {
            end_job(
                "Slurm preempts the job, and its work is done: it is cancelled, so that it does not start "
                "again");
        }
    }

    bool all_trials_have_ended() const {
        return std::all_of(lanes_.begin(), lanes_.end(), [](auto const& lane) {
            return !lane.has_outcome() || lane.outcome()->next_action == NextAction::stop;
        });
    }

    /// Whether Slurm has requeued the job: for a preemption without a grace period, because it has lost a
    /// node, or because the program asked for it.
    bool was_requeued_by_others() const {
        return std::any_of(lanes_.begin(), lanes_.end(), [](auto const& lane) {
            if (!lane.has_outcome() || lane.outcome()->next_action != NextAction::left_to_slurm) return false;
            auto const cause = lane.outcome()->cause;
            return cause == Cause::preempted || cause == Cause::time_limit || cause == Cause::node_failed;
        });
    }

    /// Lets a job that Slurm has requeued start earlier: Slurm holds it back for two minutes from the end of
    /// its last process. An earlier start time takes effect if it lies after that end, which comes within
    /// KillWait if steps still run.
    void advance_start() {
        bool const has_ended = std::all_of(lanes_.begin(), lanes_.end(),
                                           [](auto& lane) { return lane.is_idle() || lane.poll_exit(); });
        auto const until_end = has_ended ? std::chrono::seconds(0) : query_kill_wait();
        if (auto const set =
                context_.slurm.start_not_before(batch_job_.job, until_end + RequeueRequest::soonest);
            !set)
            context_.log(fmt::format("the job may start two minutes later: {}", set.error().message));
    }

    std::chrono::seconds query_kill_wait() const {
        constexpr int slurms_default = 30;
        auto const config = context_.slurm.query_cluster_config();
        return std::chrono::seconds(config ? config->find_number("KillWait").value_or(slurms_default)
                                           : slurms_default);
    }

    /// Cancels the job. If the slurmstepd of a batch script is gone, slurmctld does not learn that the script
    /// has ended. 24.11 requeues a job that ends by itself in the grace period of a preemption.
    void end_job(std::string const& why) {
        context_.log(why);
        if (auto const ended = context_.slurm.cancel(batch_job_.job); !ended)
            context_.log(fmt::format("the job can't be ended: {}", ended.error().message));
    }

    bool any_follows(NextAction next_action) const {
        return std::any_of(lanes_.begin(), lanes_.end(), [&](auto const& lane) {
            return lane.has_outcome() && lane.outcome()->next_action == next_action;
        });
    }

    /// If Slurm (22.05 at least) requeues a job while one of its nodes does not answer, the job gets no GPUs
    /// on its next nodes, and no step can start there. slurmctld counts the old GPUs as used until it is
    /// restarted.
    bool needs_new_job() const { return was_failed_by_slurm() || has_silent_node(); }

    /// Whether a run lost a node or could not be launched. Slurm may not have noticed that yet.
    bool was_failed_by_slurm() const {
        return std::any_of(lanes_.begin(), lanes_.end(), [](auto const& lane) {
            return lane.has_outcome() && lane.outcome()->next_action == NextAction::requeue &&
                   (lane.outcome()->cause == Cause::node_failed ||
                    lane.outcome()->cause == Cause::not_launched);
        });
    }

    bool has_silent_node() const {
        // Slurm is asked only if needed: many jobs may be preempted at once, and slurmctld limits the
        // requests of a user (rl_enable).
        bool const have_answered = std::all_of(lanes_.begin(), lanes_.end(), [](auto const& lane) {
            return lane.is_idle() || lane.all_nodes_answered();
        });
        if (have_answered && end_.has_begun) return false;
        auto const nodes = context_.slurm.query_nodes();
        auto const hosts = expand_host_list(batch_job_.hosts);
        if (!nodes || !hosts) return false;
        return std::any_of(nodes->begin(), nodes->end(), [&](auto const& node) {
            return node.is_unresponsive() &&
                   std::find(hosts->begin(), hosts->end(), node.name) != hosts->end();
        });
    }

    DesiredState desired_of_first() const {
        return batch_job_.spec.claims_trials() ? batch_job_.desired()
                                               : batch_job_.desired(batch_job_.first_trial);
    }

    /// Requeues the job or replaces it by a new one. Slurm then sends SIGTERM, which this process blocks.
    void requeue(RequeueRequest::Start start) {
        bool const by_new_job = needs_new_job();
        auto const new_job = requeue_job(
            batch_job_, {start, end_.was_completing, bad_hosts(), by_new_job, delay(), end_.timeout},
            context_);
        if (!new_job) return record_failure(new_job.error());
        if (!*new_job) return record_requeue();
        add_to_outcomes(by_new_job
                            ? fmt::format(" (as job {})", **new_job)
                            : fmt::format("; Slurm refused to requeue it: job {} replaces it", **new_job));
        log_failure(claims_.release_all());
    }

    std::chrono::seconds delay() const {
        constexpr std::chrono::seconds for_repair{60};
        bool const has_to_wait = std::any_of(lanes_.begin(), lanes_.end(),
                                             [](auto const& lane) { return lane.waits_for_healthy_nodes(); });
        return has_to_wait ? for_repair : RequeueRequest::soonest;
    }

    void record_requeue() {
        for (auto& lane : lanes_) {
            if (lane.has_outcome() && lane.outcome()->next_action != NextAction::stop)
                log_failure(lane.record_requeued());
        }
    }

    void record_failure(Error const& error) {
        exit_code_ = 1;
        if (error.code == codes::slurm_unreachable) {
            add_to_outcomes("; slurmctld does not answer", [](auto& outcome) {
                outcome.cause = Cause::interrupted;
                outcome.next_action = NextAction::left_to_slurm;
            });
        } else {
            add_to_outcomes(fmt::format("; but it could not be requeued: {}", error.message),
                            [](auto& outcome) { outcome.next_action = NextAction::stop; });
        }
    }

    /// Changes the outcome of all runs that were to continue in the queue.
    void add_to_outcomes(
        std::string const& addition,
        std::function<void(lifecycle::RunOutcome&)> const& change = [](auto&) {}) {
        for (auto& lane : lanes_) {
            if (!lane.has_outcome() || lane.outcome()->next_action == NextAction::stop) continue;
            auto outcome = *lane.outcome();
            outcome.message += addition;
            change(outcome);
            log_failure(lane.change_outcome(std::move(outcome)));
        }
    }

    std::vector<std::string> bad_hosts() const {
        std::vector<std::string> bad;
        for (auto const& lane : lanes_) {
            if (!lane.has_outcome()) continue;
            auto const hosts = lane.bad_hosts();
            bad.insert(bad.end(), hosts.begin(), hosts.end());
        }
        return bad;
    }

    /// Logs a failure to write the experiment's files and sets the exit code. The remaining steps are done.
    void log_failure(Status const& done) {
        if (done) return;
        context_.log(fmt::format("error: {} [{}]", done.error().message, done.error().code.name));
        exit_code_ = to_int(done.error().code.exit);
    }

    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    Claims& claims_;
    std::list<Lane>& lanes_;
    JobFacts const& end_;
    int exit_code_ = 0;
};

}  // namespace

int finish_job(BatchJob const& batch_job, SupervisorContext const& context, Claims& claims,
               std::list<Lane>& lanes, JobFacts const& end) {
    return JobFinisher(batch_job, context, claims, lanes, end).run();
}

}  // namespace det::launch::supervisor
