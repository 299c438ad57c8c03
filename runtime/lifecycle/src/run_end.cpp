// Decides why a run ended and what follows. classify_run_end() asks one function for each kind of fact, in
// the order of its list, and the first one that applies decides. A new cause is a function in that list and a
// row in the table of run_end_test. The order excludes what must never happen:
//
// - Two incarnations continue one trial: if_superseded() is first. Without this check, a supervisor whose
//   node had been cut off saw its job RUNNING, requeued the job, and so killed the run that had replaced its
//   own (measured). Restarts and BatchHost tell the two apart.
// - A cancelled trial begins again: if_canceled().
// - A trial whose search has ended is requeued because Slurm preempts its job at that moment: the functions
//   about the search come before those about the job.
// - A trial that has finished trains again: if_done().
// - A paused trial runs on because its job is preempted: if_paused() comes before if_preempted().
//
// What Slurm shows, measured from the batch step with 22.05.8: in the grace period of a preemption the job is
// RUNNING with a PreemptTime, and EndTime is the end of the period. Without a grace period it is COMPLETING:
// with no EndTime if Slurm has requeued it (PreemptMode=REQUEUE), with a PreemptTime if it must be requeued
// (CANCEL). After the failure of a node Slurm requeues the job in the same way: only srun tells why
// (lost_hosts). After a time limit it is COMPLETING with the reason TimeLimit; after scancel with an EndTime
// and nothing else, as a job whose script ends by itself, which has received no TERM.
//
// A trial that cannot train is not restarted for ever. If the progress of its runs can be seen, three
// failures in a row without progress end it, and so does the third end after a notice that looks like a
// failure. Otherwise max_restarts limits failures. slurm_failures_max limits requeues because of Slurm or its
// nodes. Preemptions, pauses and requests of the program itself (`scontrol requeue`) are not limited.
#include <det/foundation/count_text.hpp>
#include <det/lifecycle/run_end.hpp>

#include <array>
#include <fmt/format.h>

namespace det::lifecycle {
namespace {

using slurm::JobState;
using slurm::JobStatus;

std::string describe_exit(RunFacts const& facts) {
    auto const exit_code = facts.step_exit_code;
    if (!facts.silent_host.empty() && facts.is_slurmstepd_gone)
        return fmt::format("was killed: the slurmstepd of its step was gone on node {}", facts.silent_host);
    if (!facts.silent_host.empty())
        return fmt::format("was killed: node {} sent no heartbeat for too long", facts.silent_host);
    if (facts.hung_for)
        return fmt::format(
            "was killed: it had reported no step and ended no collective operation for {} s{}{}; the stacks "
            "of its "
            "ranks are in the log",
            facts.hung_for->count(), facts.hung_waits.empty() ? "" : "; ", facts.hung_waits);
    if (!facts.srun_refusal.empty()) return "was not started: " + facts.srun_refusal;
    if (!facts.health_failure.empty()) return "was not started: " + facts.health_failure;
    if (!facts.setup_failure.empty()) return "was not started: " + facts.setup_failure;
    if (exit_code == 0) return "ended";
    constexpr int signals_end = 128 + 64;  // higher codes are srun's error numbers
    auto const how = exit_code > 128 && exit_code <= signals_end
                         ? fmt::format("ended by signal {}", exit_code - 128)
                         : fmt::format("ended with exit code {}", exit_code);
    if (facts.log_labels.empty()) return how;
    return fmt::format("{} (in its log: {})", how, fmt::join(facts.log_labels, ", "));
}

/// Whether Slurm has preempted the job, and its grace period is not over.
bool is_in_grace(RunFacts const& facts) {
    return facts.job && facts.job->state == JobState::running && facts.job->preempt_time;
}

/// Whether the run must end before its work is done: Slurm takes the nodes, or the supervisor asked for it.
bool must_stop(RunFacts const& facts) { return is_in_grace(facts) || facts.stop_reason != StopReason::none; }

constexpr std::uint32_t failures_without_progress_max = 2;  // one more ends the trial
constexpr std::uint32_t bad_ends_without_progress_max = 2;  // one more is a failure

/// Whether a run that ended after a notice looks like one whose program failed, for example while it saved.
bool ended_like_a_failure(RunFacts const& facts) {
    bool const has_stopped = facts.preemption_acknowledged || facts.has_preempted_exit_code ||
                             facts.ended_by_notice_signal || facts.step_exit_code == 0;
    return facts.was_killed || !has_stopped;
}

/// Whether the run and those before it ended like failures after their notices and saved nothing.
bool is_stuck_at_notices(RunFacts const& facts) {
    bool const has_visible_progress = facts.is_progress_visible || facts.uses_core_api;
    return has_visible_progress && !facts.has_progressed && !facts.preemption_acknowledged &&
           ended_like_a_failure(facts) && facts.bad_ends_without_progress >= bad_ends_without_progress_max;
}

/// Whether the run stopped because of a notice before its work was done. An acknowledged notice decides
/// alone. After Slurm's PreemptTime or a request of the supervisor (must_stop()) the exit code decides only
/// for a program that does not see notices: with 0 it has finished. All other ends are preemptions, because
/// launchers hide the code of the ranks: torchrun ends with 1 after a notice, and a nested srun with 137.
/// The exception is is_stuck_at_notices(): a save that crashes each time must not be repeated for ever.
bool stopped_after_notice(RunFacts const& facts) {
    if (facts.preemption_acknowledged) return true;
    if (must_stop(facts)) {
        bool const has_ended_early = facts.was_killed || facts.gets_notices || facts.step_exit_code != 0;
        return has_ended_early && !is_stuck_at_notices(facts);
    }
    // TERM of Slurm without a PreemptTime is no sure sign, because Slurm sends it to the other ranks after
    // the failure of one. Then the end must show that the program has seen the notice, or has been killed for
    // it.
    bool const was_told = facts.gets_notices && facts.step_exit_code == 0;
    bool const was_late = facts.was_killed && facts.silent_host.empty() && !facts.hung_for;
    return facts.task_notice_received &&
           (was_told || was_late || facts.has_preempted_exit_code || facts.ended_by_notice_signal);
}

/// Whether the training has finished: exit code 0, and no notice is the reason.
bool has_finished(RunFacts const& facts) {
    return facts.step_exit_code == 0 && !facts.was_killed && !stopped_after_notice(facts);
}

// Each function handles one kind of fact and returns an outcome, or nothing if it does not apply.

std::optional<RunOutcome> if_superseded(RunFacts const& facts) {
    if (facts.higher_run_exists) {
        return RunOutcome{Cause::superseded, NextAction::left_to_slurm, "a newer run of this trial exists"};
    }
    if (facts.job && !is_same_incarnation(facts.incarnation, *facts.job) &&
        !is_ending(facts.incarnation, *facts.job)) {
        return RunOutcome{
            Cause::superseded, NextAction::left_to_slurm,
            fmt::format("the job runs again on '{}': this incarnation was cut off from the network",
                        facts.job->batch_host)};
    }
    return std::nullopt;
}

std::optional<RunOutcome> if_canceled(RunFacts const& facts) {
    if (facts.desired == DesiredState::kill) {
        return RunOutcome{Cause::canceled, NextAction::stop, "the user killed it"};
    }
    if (facts.desired == DesiredState::cancel) {
        return RunOutcome{
            Cause::canceled, NextAction::stop,
            facts.was_killed ? "the user cancelled it; it did not stop in time" : "the user cancelled it"};
    }
    return std::nullopt;
}

/// Applies if the program has reported that it can't train with the hyperparameters of this trial.
std::optional<RunOutcome> if_invalid(RunFacts const& facts) {
    if (!facts.search.is_invalid) return std::nullopt;
    return RunOutcome{Cause::invalid_hyperparameters, NextAction::stop,
                      "the trainer calls its hyperparameters invalid"};
}

/// Applies if the search has ended the trial or can't go on, but not to a program that ended by itself after
/// the last rung, or before it was asked to stop: that trial is finished.
std::optional<RunOutcome> if_stopped_by_search(RunFacts const& facts) {
    auto const& search = facts.search;
    if (!search.invalid_report_reason.empty())
        return RunOutcome{Cause::failed, NextAction::stop,
                          "the search can't go on: " + search.invalid_report_reason};
    bool const was_asked = facts.stop_reason == StopReason::search;
    bool const has_finished = facts.step_exit_code == 0 && !facts.preemption_acknowledged;
    if (search.end.empty() || (has_finished && (search.is_complete || !was_asked))) return std::nullopt;
    return RunOutcome{Cause::stopped_by_search, NextAction::stop, "the search ended it: " + search.end};
}

/// Applies if the search has ended the trial and the program ended by itself: after the last rung, or before
/// it was asked to stop. Slurm may be taking the nodes at the same time.
std::optional<RunOutcome> if_search_is_over(RunFacts const& facts) {
    if (facts.search.end.empty()) return std::nullopt;
    return RunOutcome{Cause::finished, NextAction::stop, "the trainer finished"};
}

std::optional<RunOutcome> if_done(RunFacts const& facts) {
    bool const has_ended_well = facts.step_exit_code == 0 || stopped_after_notice(facts);
    if (!facts.says_done || !has_ended_well) return std::nullopt;
    return RunOutcome{Cause::finished, NextAction::stop, "the trainer finished, as it has told"};
}

/// How the run ended, for the message about a preemption.
std::string describe_preempted_end(RunFacts const& facts);

/// Applies if the run was asked to stop because it was idle, but not to a program that does not see notices
/// and finished. Slurm may be taking the nodes at the same time.
std::optional<RunOutcome> if_idle(RunFacts const& facts) {
    if (facts.stop_reason != StopReason::idle || facts.desired == DesiredState::pause) return std::nullopt;
    if (has_finished(facts)) return std::nullopt;
    return RunOutcome{
        Cause::idle, NextAction::stop,
        fmt::format("it was idle: {}; the trainer {}", facts.idle_use, describe_preempted_end(facts))};
}

std::string on_nodes(std::vector<std::string> const& hosts) {
    return fmt::format("{} {}", plural("node", hosts.size()), fmt::join(hosts, ", "));
}

std::optional<RunOutcome> if_job_ends(RunFacts const& facts) {
    if (!facts.job || facts.job->state != JobState::completing) return std::nullopt;
    JobStatus const& job = *facts.job;
    if (job.reason == "TimeLimit") {
        return RunOutcome{Cause::time_limit, NextAction::stop, "Slurm's time limit was reached"};
    }
    // With a time limit, squeue shows a requeued job with the end of its next execution.
    bool const is_requeued = !job.end_time || job.restarts == facts.incarnation.restart_count + 1;
    if (is_requeued && !facts.lost_hosts.empty() && !facts.preemption_acknowledged) {
        return RunOutcome{Cause::node_failed, NextAction::left_to_slurm,
                          fmt::format("Slurm has lost {}, and requeued the job", on_nodes(facts.lost_hosts))};
    }
    if (is_requeued) {
        // A program that gets notices may call `scontrol requeue` itself: Slurm shows the same.
        return RunOutcome{facts.stop_reason == StopReason::time_limit ? Cause::time_limit : Cause::preempted,
                          NextAction::left_to_slurm,
                          facts.gets_notices
                              ? "the job was requeued, by Slurm's preemption or by the program itself"
                              : "Slurm preempted and requeued the job"};
    }
    if (job.preempt_time) {
        return RunOutcome{Cause::preempted, NextAction::requeue, "Slurm preempted the job"};
    }
    // A job is also COMPLETING while its batch script ends by itself. Only a notice shows that Slurm ended
    // it.
    if (facts.notice_received) {
        return RunOutcome{Cause::canceled, NextAction::stop, "the job was cancelled in Slurm"};
    }
    return std::nullopt;
}

/// A program that gets notices as signals, or ends with one of slurm.preempted_exit_codes, may have saved its
/// work without an acknowledgement.
std::string describe_unacknowledged_exit(RunFacts const& facts) {
    if (facts.was_stopped_before_step) return "was not started";
    bool const may_have_saved = facts.gets_notices || facts.has_preempted_exit_code;
    return describe_exit(facts) + (may_have_saved ? "" : " without having saved");
}

std::optional<RunOutcome> if_paused(RunFacts const& facts) {
    if (facts.desired != DesiredState::pause || has_finished(facts)) return std::nullopt;
    if (facts.preemption_acknowledged)
        return RunOutcome{Cause::paused, NextAction::requeue_held,
                          "the user paused it; the trainer saved its work"};
    if (facts.was_killed)
        return RunOutcome{Cause::paused, NextAction::requeue_held,
                          "the user paused it; it did not stop in time"};
    return RunOutcome{Cause::paused, NextAction::requeue_held,
                      "the user paused it; the trainer " + describe_unacknowledged_exit(facts)};
}

/// The beginning of the message of a run that was requeued for more nodes.
constexpr std::string_view grow_message = "more nodes are idle";

std::string describe_stop_reason(RunFacts const& facts) {
    if (is_in_grace(facts)) return "Slurm preempted the job";
    switch (facts.stop_reason) {
        case StopReason::time_limit:
            return "Slurm's time limit was near";
        case StopReason::other_trial:
            return "the job was requeued because of another trial in it";
        case StopReason::grow:
            return std::string(grow_message);
        case StopReason::search:
        case StopReason::idle:
        case StopReason::user:
        case StopReason::none:
            break;
    }
    return "the trainer was asked to stop";
}

std::string describe_preempted_end(RunFacts const& facts) {
    if (facts.preemption_acknowledged) return "saved its work";
    if (facts.was_killed) return "did not stop in time";
    return describe_unacknowledged_exit(facts);
}

std::optional<RunOutcome> if_preempted(RunFacts const& facts) {
    if (!stopped_after_notice(facts)) return std::nullopt;
    bool const in_grace = is_in_grace(facts);
    // With the reason `user`, the user has paused the trial and activated it again: the nodes are still
    // allocated.
    auto const next_action = facts.stop_reason == StopReason::user && !in_grace ? NextAction::restart_in_place
                                                                                : NextAction::requeue;
    return RunOutcome{
        facts.stop_reason == StopReason::time_limit && !in_grace ? Cause::time_limit : Cause::preempted,
        next_action,
        fmt::format("{}; the trainer {}", describe_stop_reason(facts), describe_preempted_end(facts))};
}

/// Applies if the program asked for a requeue: by `scontrol requeue` inside a container or, without a notice,
/// by an exit code of slurm.preempted_exit_codes. Such an exit code counts as a failure if the run made no
/// progress, so that the number of such runs is limited.
std::optional<RunOutcome> if_asks_for_requeue(RunFacts const& facts) {
    if (facts.asks_for_requeue)
        return RunOutcome{
            Cause::preempted, NextAction::requeue,
            fmt::format("the trainer asked to be queued again ({})",
                        facts.requeue_request.empty() ? "scontrol requeue" : facts.requeue_request)};
    if (!facts.has_preempted_exit_code || !facts.has_progressed) return std::nullopt;
    return RunOutcome{
        Cause::preempted, NextAction::requeue,
        fmt::format("the trainer asked to be queued again (exit code {})", facts.step_exit_code)};
}

std::optional<RunOutcome> if_interrupted(RunFacts const& facts) {
    if (!facts.slurm_answered && facts.notice_received) {
        return RunOutcome{Cause::interrupted, NextAction::left_to_slurm,
                          "the job received a notice to end, and slurmctld did not answer why"};
    }
    return std::nullopt;
}

Cause failure_of(RunFacts const& facts) {
    return facts.hung_for && facts.silent_host.empty() ? Cause::hung : Cause::failed;
}

// Limits consecutive requeues because of Slurm or its nodes.
constexpr std::uint32_t slurm_failures_max = 30;

/// The outcome if the next run must not use some of the nodes.
RunOutcome without_bad_nodes(RunFacts const& facts, std::string const& what) {
    auto const& bad = facts.bad_nodes;
    auto const of_node = facts.health_failure.empty() ? Cause::node_failed : Cause::not_launched;
    auto const cause = bad.is_failure_of_trial ? failure_of(facts) : of_node;
    auto const message = fmt::format("the trainer {}; {}: {}", what, bad.why, on_nodes(bad.hosts));
    if (bad.is_enough_here)
        return {cause, NextAction::restart_in_place, message + "; restarted on other nodes", bad.hosts,
                bad.is_bad_for_trial_only};
    if (bad.is_enough_elsewhere)
        return {cause, NextAction::requeue, message + "; requeued without them", bad.hosts,
                bad.is_bad_for_trial_only};
    if (bad.may_come_back && facts.slurm_failures_in_a_row < slurm_failures_max)
        return {cause, NextAction::requeue, message + "; requeued", {}};
    return {cause, NextAction::stop, message + "; not enough other nodes", bad.hosts,
            bad.is_bad_for_trial_only};
}

/// Handles a step that srun refused although an earlier run had started: another allocation may work.
std::optional<RunOutcome> if_refused(RunFacts const& facts) {
    if (facts.srun_refusal.empty() || !facts.has_begun_before) return std::nullopt;
    auto const what = "the trainer " + describe_exit(facts);
    if (facts.slurm_failures_in_a_row < slurm_failures_max)
        return RunOutcome{Cause::not_launched, NextAction::requeue, what + "; requeued"};
    return RunOutcome{Cause::not_launched, NextAction::stop,
                      fmt::format("{}; it was requeued {} times in a row", what, slurm_failures_max)};
}

bool can_restart_here(RunFacts const& facts) {
    // Processes of a lost step keep their share of the node until the job ends.
    bool const is_blocked = facts.shares_node && !facts.silent_host.empty();
    bool const loses_nodes = is_in_grace(facts) || facts.stop_reason == StopReason::time_limit ||
                             facts.stop_reason == StopReason::other_trial;
    return !is_blocked && !loses_nodes && !facts.has_preempted_exit_code;
}

/// Why a run that ended after a notice is a failure; empty for other runs.
std::string describe_stuck_at_notices(RunFacts const& facts) {
    if (!must_stop(facts) || !is_stuck_at_notices(facts)) return "";
    return fmt::format(" after a notice, {} times in a row without having saved anything new",
                       facts.bad_ends_without_progress + 1);
}

/// Applies to a run that failed and whose ranks have found its checkpoint damaged. The next run continues
/// from an older one. The number of such runs is limited by the number of checkpoints.
std::optional<RunOutcome> if_checkpoint_damaged(RunFacts const& facts) {
    bool const has_failed_itself =
        facts.step_exit_code != 0 && facts.silent_host.empty() && !facts.hung_for && !facts.was_killed;
    if (facts.damaged_checkpoint.empty() || !has_failed_itself) return std::nullopt;
    return RunOutcome{Cause::checkpoint_damaged,
                      can_restart_here(facts) ? NextAction::restart_in_place : NextAction::requeue,
                      fmt::format("the trainer {}; {}; it starts again from an older checkpoint",
                                  describe_exit(facts), facts.damaged_checkpoint)};
}

/// Applies to a batch script that has submitted a job with the same script, which this job can't replace: the
/// trial is not finished.
std::optional<RunOutcome> if_continued_elsewhere(RunFacts const& facts) {
    if (facts.successor.empty()) return std::nullopt;
    return RunOutcome{Cause::interrupted, NextAction::left_to_slurm,
                      fmt::format("the script has submitted its successor, job {}, which is no job of this "
                                  "experiment",
                                  facts.successor)};
}

RunOutcome classify_by_exit_code(RunFacts const& facts) {
    if (facts.step_exit_code == 0 && facts.silent_host.empty() && !facts.hung_for)
        return {Cause::finished, NextAction::stop, "the trainer finished"};
    auto const what = describe_exit(facts) + describe_stuck_at_notices(facts);
    bool const is_node_failure = !facts.bad_nodes.hosts.empty() && !facts.bad_nodes.is_failure_of_trial;
    if (is_node_failure) return without_bad_nodes(facts, what);
    if (auto refused = if_refused(facts)) return *std::move(refused);
    if (!facts.cancel_retries_policy.empty()) {
        return {failure_of(facts), NextAction::stop,
                fmt::format("the trainer {}; the log policy '{}' allows no restart", what,
                            facts.cancel_retries_policy)};
    }
    if (facts.restarts >= facts.restarts_max) {
        return {failure_of(facts), NextAction::stop,
                facts.restarts_max == 0
                    ? fmt::format("the trainer {}", what)
                    : fmt::format("the trainer {}; all {} restarts are used up", what, facts.restarts_max)};
    }
    if (facts.repeats_failure && facts.has_default_max_restarts && !facts.has_progressed) {
        return {
            failure_of(facts), NextAction::stop,
            fmt::format("the trainer {}; it failed twice in the same way: no restart (max_restarts sets how "
                        "often it is restarted)",
                        what)};
    }
    bool const is_stuck = facts.is_progress_visible && !facts.has_progressed;
    if (is_stuck && facts.failures_without_progress >= failures_without_progress_max) {
        return {failure_of(facts), NextAction::stop,
                fmt::format("the trainer {}, {} times in a row without having saved anything new: no restart",
                            what, facts.failures_without_progress + 1)};
    }
    auto const restart = fmt::format("{}; restart {} of {}", what, facts.restarts + 1, facts.restarts_max);
    if (!facts.bad_nodes.hosts.empty()) return without_bad_nodes(facts, restart);
    return {failure_of(facts), can_restart_here(facts) ? NextAction::restart_in_place : NextAction::requeue,
            "the trainer " + restart};
}

}  // namespace

std::string_view to_string(StopReason stop_reason) {
    constexpr std::array<std::string_view, 7> names{"nothing", "user", "time-limit", "neighbour",
                                                    "search",  "idle", "grow"};
    return names.at(static_cast<std::size_t>(stop_reason));
}

bool was_requeued_to_grow(RunEnded const& ended) {
    return ended.cause == Cause::preempted && ended.message.starts_with(grow_message);
}

bool is_same_incarnation(Incarnation const& incarnation, slurm::JobStatus const& job) {
    return job.restarts == incarnation.restart_count && job.batch_host == incarnation.batch_host;
}

bool is_ending(Incarnation const& incarnation, slurm::JobStatus const& job) {
    // If Slurm itself requeues the job, it has already counted the restart while this execution still ends.
    bool const is_requeued = job.restarts == incarnation.restart_count + 1;
    return job.state == JobState::completing && (is_requeued || is_same_incarnation(incarnation, job));
}

RunOutcome classify_run_end(RunFacts const& facts) {
    for (auto const classify :
         {if_superseded, if_canceled, if_invalid, if_stopped_by_search, if_search_is_over, if_done, if_idle,
          if_job_ends, if_paused, if_preempted, if_interrupted, if_asks_for_requeue, if_continued_elsewhere,
          if_checkpoint_damaged}) {
        if (auto outcome = classify(facts)) return *std::move(outcome);
    }
    return classify_by_exit_code(facts);
}

}  // namespace det::lifecycle
