// The end of a run: why it has ended, what follows, and what is recorded. The supervisor may be killed or cut
// off from the network at any point, so there is an order:
//
// - finish_run() makes the end visible to the search first, and creates the trial that replaces an invalid
//   one: the next incarnation finds both even if no end is recorded. Then finish_run() records the end, and
//   only then does the caller act on the outcome. change_outcome() records another end if the requeue has
//   failed or has made a new job.
// - Before record_outcome() records the end of a trial, it removes an empty DET_TRIAL_DIR, of the generation
//   of its own run only. A run that begins later and finds no end of this one can't exclude that this one
//   still runs, and makes its own generation. So no later run works in a directory that is removed. If the
//   supervisor is killed between the two, the run has no end, and the next run makes what it needs.
// - Other files that only running tasks need are removed after the end of a run is recorded, unless the trial
//   ends: no later run reads them.
// - A superseded run records nothing, because the trial belongs to the newer run.
#include <det/launch/supervisor/memory_cleanup.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/sampler/decision_log.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include "excluded_nodes.hpp"
#include "gather_run_facts.hpp"
#include "lane.hpp"
#include "own_script.hpp"
#include "repeat_write.hpp"
#include "script_signals.hpp"
#include "trial_files.hpp"

namespace det::launch::supervisor {
namespace {

/// The event of slurm.event_hook for the end of a run; empty for the causes that are not reported.
std::string_view event_of(Cause cause) {
    if (cause == Cause::finished || cause == Cause::stopped_by_search) return events::completed;
    if (cause == Cause::preempted || cause == Cause::time_limit) return events::preempted;
    if (cause == Cause::paused) return events::paused;
    if (cause == Cause::canceled) return events::canceled;
    if (cause == Cause::idle) return events::idle;
    bool const has_failed = counts_against_max_restarts(cause) || cause == Cause::node_failed ||
                            cause == Cause::not_launched || cause == Cause::invalid_hyperparameters ||
                            cause == Cause::checkpoint_damaged;
    return has_failed ? events::failed : "";
}

}  // namespace

Status Lane::finish_run(int exit_code, std::optional<slurm::JobStatus> const& job, bool slurm_answered) {
    if (has_new_allocation(job)) record_allocation(*job);
    if (run_->nodes) run_->nodes->update();
    if (!run_->machine.silent_host().empty()) mark_abandoned();
    // A batch script may handle the failure of a rank: its own code counts.
    bool const is_own_code = exit_code == 0 || batch_job_.is_script();
    run_->exit_code = is_own_code ? exit_code : run_->record.first_failure().value_or(exit_code);
    DET_TRY_ASSIGN(auto facts,
                   gather_facts(batch_job_, context_,
                                {run_->plan, run_->record, run_->machine, run_->health, run_->lost_hosts,
                                 run_->nodes.get(), run_->exit_code, run_->output_begin_bytes,
                                 std::chrono::duration_cast<std::chrono::milliseconds>(
                                     context_.clock.steady_now() - run_->step_began)}));
    facts.idle_use = run_->idle_use;
    facts.is_slurmstepd_gone = run_->is_slurmstepd_gone;
    if (!run_->step_refusal.empty() && exit_code != 0) facts.srun_refusal = run_->step_refusal;
    facts.job = job;
    facts.slurm_answered = slurm_answered;
    facts.was_stopped_before_step = run_->was_stopped_before_step;
    facts.search = gather_search_facts();
    if (slurm_answered) add_successor(facts);
    if (was_warned_of_time_limit(facts)) facts.stop_reason = lifecycle::StopReason::time_limit;
    auto outcome = lifecycle::classify_run_end(facts);
    if (outcome.cause == Cause::finished && may_train_on())
        outcome = {Cause::waits_for_search, NextAction::requeue_held,
                   fmt::format("it has trained to length {}: the sampler may let it train on",
                               *run_->plan.training_length)};
    if (outcome.cause != Cause::superseded) {
        DET_TRY(repeat_write(context_, AtNotice::go_on, [&] { return apply_to_search(outcome); }));
        return record_outcome(std::move(outcome));
    }
    // Another incarnation owns the trial now: this one writes nothing more into its directory.
    context_.log(fmt::format("run {}: {}", to_string(id()), outcome.message));
    run_->outcome = std::move(outcome);
    return Ok{};
}

/// Whether the sampler has set the length to which the run has trained, and may let the trial train on.
bool Lane::may_train_on() const {
    if (!run_->plan.training_length) return false;
    auto const decisions = sampler::load_decisions(batch_job_.experiment);
    return !decisions || !decisions->is_closed(id().trial.index);
}

/// Whether a batch script has ended after the signal that it asked for before its time limit (`--signal=B:`):
/// it has more to do.
bool Lane::was_warned_of_time_limit(lifecycle::RunFacts const& facts) const {
    constexpr std::chrono::seconds slurms_resolution{60};
    auto const warning = find_warning_time(batch_job_.spec.sbatch_options);
    auto const& job = facts.job;
    bool const may_be = batch_job_.is_script() && run_->was_signalled && facts.successor.empty() &&
                        !facts.was_killed && facts.stop_reason == lifecycle::StopReason::none;
    if (!may_be || !warning || !job || job->state != slurm::JobState::running || !job->end_time) return false;
    auto const left =
        std::chrono::microseconds(job->end_time->microseconds - context_.clock.now().microseconds);
    return left <= *warning + slurms_resolution;
}

/// Looks for the job by which a batch script goes on. A successor that waits, and does the same as this job,
/// is cancelled: this job is queued again in its place, and stays one of the experiment.
void Lane::add_successor(lifecycle::RunFacts& facts) {
    bool const ends_here = facts.job && facts.job->state == slurm::JobState::running && !facts.was_killed;
    if (!batch_job_.is_script() || !ends_here || facts.desired != DesiredState::run) return;
    auto const found = find_successor(batch_job_, run_->began, context_.slurm);
    if (!found) {
        context_.log(fmt::format("whether the script has submitted its successor is not known: {}",
                                 found.error().message));
        return;
    }
    if (!*found) return;
    auto const successor = slurm::to_string((*found)->job);
    if ((*found)->is_replaceable && context_.slurm.cancel((*found)->job)) {
        facts.asks_for_requeue = true;
        facts.requeue_request = fmt::format("it had submitted job {}, which this one replaces", successor);
    } else {
        facts.successor = successor;
    }
}

lifecycle::SearchFacts Lane::gather_search_facts() {
    lifecycle::SearchFacts facts;
    facts.is_invalid = run_->record.has_invalid_hyperparameters();
    if (run_->sampler) facts.end = run_->sampler->end();
    if (!run_->search) return facts;
    // What the ranks have reported is decided before the end of the run is recorded.
    (void)repeat_write(context_, AtNotice::go_on, [&] {
        run_->search->open_again();
        return run_->search->follow(run_->record, context_.clock);
    });
    follow_search();  // logs an error that remains
    auto const& search = *run_->search;
    facts.end = search.describe_end();
    facts.is_complete = search.end_decision() && search.end_decision()->decision == "complete";
    facts.invalid_report_reason = search.invalid_report_reason();
    return facts;
}

/// Makes the end of this trial visible to the other trials of its search. Replaces a trial with invalid
/// hyperparameters.
Status Lane::apply_to_search(lifecycle::RunOutcome& outcome) {
    bool const has_failed =
        outcome.next_action == NextAction::stop &&
        (counts_against_max_restarts(outcome.cause) || outcome.cause == Cause::not_launched ||
         outcome.cause == Cause::checkpoint_damaged || outcome.cause == Cause::idle);
    if (has_failed && run_->search) return run_->search->add_failure();
    if (outcome.cause != Cause::invalid_hyperparameters) return Ok{};
    if (run_->search) DET_TRY(run_->search->remove_entries());
    DET_TRY_ASSIGN(auto const replacement, claims_.claim_replacement(id().trial.index));
    if (replacement) outcome.message += fmt::format("; trial {} replaces it", *replacement);
    return Ok{};
}

void Lane::remove_snapshots() {
    bool const is_superseded = run_->outcome && run_->outcome->cause == Cause::superseded;
    if (!keeps_in_memory(batch_job_.spec) || is_superseded || !poll_exit()) return;
    auto except = bad_hosts();  // a step is not started if one of its nodes is lost
    except.insert(except.end(), run_->lost_hosts.begin(), run_->lost_hosts.end());
    remove_snapshots_on_nodes(batch_job_, context_, id().trial, except);
}

std::vector<std::string> Lane::bad_hosts() const {
    auto hosts = run_->plan.resume.bad_hosts;
    if (!run_->outcome) return hosts;
    std::ranges::copy_if(run_->outcome->bad_hosts, std::back_inserter(hosts),
                         [&](auto const& host) { return std::ranges::find(hosts, host) == hosts.end(); });
    return hosts;
}

Status Lane::change_outcome(lifecycle::RunOutcome outcome) {
    auto const noted = note_living_tasks();
    return record_end(std::move(outcome), noted);
}

bool Lane::has_step_ended() {
    return poll_exit() && run_->machine.silent_host().empty() && run_->lost_hosts.empty();
}

/// Whether tasks may live on nodes that have no heartbeat file. If the tasks of a node that was connected
/// ended in order, the node has reported that to the supervisor or in a file (`node-K.left`); otherwise they
/// were killed, are cut off, or live. The same holds for a node that has never connected while srun waits for
/// it: it may just have begun. srun ends with 0 when it has heard of the end of every task.
bool Lane::may_tasks_live() {
    if (!run_->step || !run_->nodes) return false;
    if (has_step_ended() && *poll_exit() == 0) return false;
    run_->nodes->update();
    auto const nodes = run_->nodes->list_not_left(!has_step_ended());
    if (nodes.empty()) return false;
    auto const files = NodeFiles::list(run_->record.layout());
    return !files || !std::ranges::all_of(nodes, [&](int node) { return files->has_left(node); });
}

/// Before the end of the run is recorded, says in a file that tasks may live, as the heartbeat files of nodes
/// do that are not connected. Later runs of other processes look for it: ResumePoint::may_still_run. So it
/// must be there before the record. A run that has no record needs no file, because it may still run. Slurm
/// kills this process soon after its notice: then a write that fails is not repeated.
Status Lane::note_living_tasks() {
    if (!may_tasks_live()) return Ok{};
    run_->has_noted_tasks = true;
    auto const note = [&] { return run_->record.note_living_tasks(run_->nodes->count_connected()); };
    return run_->machine.notice_received() ? note() : repeat_write(context_, AtNotice::give_up, note);
}

/// Removes that file if the tasks have ended in order after all. If this process is killed before, or the
/// file system does not answer, it stays: a later run copies the files of the trial then.
void Lane::forget_ended_tasks() {
    if (run_ && run_->has_noted_tasks && can_write_storage() && !may_tasks_live())
        run_->record.forget_living_tasks();
}

/// Removes what no later run and no reader needs, so that a search of many trials leaves few files. Does
/// nothing while tasks may live or if Slurm ends them: a task that was cut off keeps its directory.
/// \return whether no task lives
bool Lane::remove_files_of_tasks(NextAction next_action) {
    return has_step_ended() && next_action != NextAction::left_to_slurm &&
           run_->record.remove_files_of_tasks();
}

/// Removes the files of the tasks, and DET_TRIAL_DIR if it is empty, before the end of the trial is recorded.
void Lane::remove_files_of_trial() {
    bool const may_remove = remove_files_of_tasks(NextAction::stop) && run_->record.has_newer_run() == false;
    if (!may_remove || run_->plan.trial_dir.empty()) return;
    remove_unused_trial_files(batch_job_.experiment.trial(id().trial.index),
                              GenerationLayout(std::filesystem::path(run_->plan.trial_dir).parent_path()));
}

Status Lane::record_outcome(lifecycle::RunOutcome outcome) {
    // Slurm kills this process soon after its notice: then the end is recorded first.
    bool const ends_trial = outcome.next_action == NextAction::stop && !run_->machine.notice_received();
    auto const noted = note_living_tasks();
    if (noted && ends_trial) remove_files_of_trial();
    auto const recorded = record_end(std::move(outcome), noted);
    auto const& recorded_outcome = *run_->outcome;
    if (recorded && !ends_trial) (void)remove_files_of_tasks(recorded_outcome.next_action);
    auto const event = event_of(recorded_outcome.cause);
    if (!event.empty()) notify(event, recorded_outcome.message, to_string(recorded_outcome.next_action));
    return recorded;
}

/// Records the end, unless note_living_tasks() has failed: later runs take a run without an end for one that
/// may still run. What follows is carried out all the same.
Status Lane::record_end(lifecycle::RunOutcome outcome, Status const& noted) {
    context_.log(fmt::format("run {} ended: {} ({}, {})", to_string(id()), outcome.message,
                             to_string(outcome.cause), to_string(outcome.next_action)));
    auto const ended = context_.clock.now();
    auto const recorded =
        noted ? repeat_write(context_, AtNotice::go_on,
                             [&] { return run_->record.end(ended, outcome, run_->exit_code); })
              : noted;
    remember_bad_nodes(batch_job_, context_, outcome);
    run_->outcome = std::move(outcome);
    return recorded;
}

}  // namespace det::launch::supervisor
