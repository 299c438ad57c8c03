#include <det/experiment/control_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/damage.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>
#include <det/search/asha.hpp>
#include <det/slurm/resubmit_tasks.hpp>

#include <chrono>
#include <fmt/format.h>
#include <set>

#include "run_event_hook.hpp"

namespace det::experiment {
namespace {

bool is_interrupted(tracker::history::TrialView const& trial) {
    return trial.state == lifecycle::State::interrupted && trial.record.desired == DesiredState::run;
}

/// In an experiment whose tasks claim trials, removes the claims of interrupted trials, so that a new task
/// can claim them. The tasks that claimed them have ended.
Status remove_claims(OpenExperiment const& experiment) {
    if (!experiment.view.record.tasks_claim_trials()) return Ok{};
    for (auto const& trial : experiment.view.trials) {
        if (is_interrupted(trial))
            DET_TRY(remove_tree(experiment.layout.trial(trial.record.id.index).claimed()));
    }
    return Ok{};
}

/// Submits the tasks of interrupted trials again, held. Returns the new arrays.
Result<std::vector<ArrayJob>> resubmit_interrupted(OpenExperiment const& experiment, Context& context) {
    std::vector<std::uint32_t> interrupted;
    for (auto const& trial : experiment.view.trials) {
        if (is_interrupted(trial))
            interrupted.push_back(experiment.view.record.planned_trial(trial.record.id.index));
    }
    DET_TRY(remove_claims(experiment));
    slurm::SubmitContext const submit_context{event_author(context.environment), context.environment,
                                              context.clock};
    // Tasks that were submitted at different times become one array, so that its limit holds for all of them.
    auto arrays = experiment.view.record.arrays();
    for (auto& array : arrays) array.job = 0;
    std::vector<ArrayJob> submitted;
    for (auto const& array : pick_tasks(arrays, interrupted)) {
        DET_TRY_ASSIGN(auto job, slurm::resubmit_tasks(experiment.layout, *experiment.view.record.spec,
                                                       {array, {}}, submit_context, context.slurm));
        submitted.push_back(std::move(job));
    }
    return submitted;
}

/// Makes paused trials eligible at once: Slurm gives a requeued job a BeginTime two minutes in the future.
void clear_requeue_delay(tracker::history::ExperimentView const& view, Context& context) {
    std::set<slurm::JobRef> tasks;
    for (auto const& trial : view.trials) {
        auto const& runs = trial.record.runs;
        bool const was_paused =
            !runs.empty() && runs.back().ended && runs.back().ended->next_action == NextAction::requeue_held;
        if (was_paused && trial.job && trial.job->state == slurm::JobState::pending)
            tasks.insert(trial.job->ref);
    }
    for (auto const& task : tasks) {
        if (auto changed = context.slurm.start_not_before(task, std::chrono::seconds(1)); !changed)
            context.warn(std::move(changed).error());
    }
}

/// Returns true if the `created` event is on disk. The event that open_experiment adds in memory has no
/// author.
bool is_recorded(tracker::history::ExperimentRecord const& record) {
    for (auto const& event : record.events) {
        if (event.kind == event_kinds::created) return !event.by.empty();
    }
    return false;
}

Status check_can_be_activated(OpenExperiment const& experiment) {
    auto const state = experiment.view.state;
    auto const id = experiment.id().value;
    if (experiment.view.record.arrays().empty() || !experiment.view.record.spec) {
        return Error{codes::wrong_state,
                     fmt::format("experiment {} never reached Slurm: its creation was interrupted", id),
                     fmt::format("create it again; 'det-submit experiment kill {}' ends this one", id)};
    }
    if (lifecycle::is_terminal(state) || experiment.view.record.desired == DesiredState::cancel ||
        experiment.view.record.desired == DesiredState::kill) {
        return Error{codes::wrong_state,
                     fmt::format("experiment {} has ended: it is {}", id, to_string(state)),
                     fmt::format("'det-submit experiment continue {}' continues it", id)};
    }
    return Ok{};
}

/// A creation that submits several arrays may have been interrupted between two of them. The jobs that Slurm
/// has do not say which trials they run, so such an experiment cannot be completed.
Status check_arrays_are_complete(tracker::history::ExperimentRecord const& record) {
    std::uint64_t trials = 0;
    for (auto const& array : record.arrays()) trials += array.trial_count;
    if (trials >= record.spec->trial_count) return Ok{};
    return Error{
        codes::wrong_state,
        fmt::format("Slurm has jobs for {} of the {} trials of experiment {}: its creation was "
                    "interrupted",
                    trials, record.spec->trial_count, record.id.value),
        fmt::format("'det-submit experiment kill {}' ends it; then create it again", record.id.value)};
}

/// A search decides by the reports of all trials.
Status check_journals_of_search(OpenExperiment const& experiment) {
    if (!search::is_asha(experiment.view.record.spec->searcher.name)) return Ok{};
    DET_TRY_ASSIGN(auto const damaged, journal::find_damaged_journals(experiment.layout));
    if (damaged.empty()) return Ok{};
    return journal::journal_damaged_error(damaged.front());
}

}  // namespace

Status accept_journal_damage(std::string const& id, Context& context) {
    DET_TRY_ASSIGN(auto const root, find_root(context.environment));
    DET_TRY_ASSIGN(auto const number, require_experiment_id(id));
    DET_TRY_ASSIGN(auto const damaged, journal::find_damaged_journals(ExperimentLayout(root, number)));
    for (auto const& journal : damaged) {
        auto warning = journal::journal_damaged_error(journal);
        warning.hint = "this is accepted from now on";
        context.warn(std::move(warning));
        DET_TRY(journal::accept_damage(journal));
    }
    return Ok{};
}

Result<ActivatedExperiment> activate_experiment(std::string const& id, Context& context) {
    DET_TRY_ASSIGN(auto const experiment, open_experiment(id, SlurmAnswer::required, context));
    DET_TRY(require_trusted_experiment(experiment, context));
    DET_TRY(check_can_be_activated(experiment));
    DET_TRY(check_journals_of_search(experiment));
    auto const& record = experiment.view.record;
    if (!is_recorded(record)) {
        DET_TRY(check_arrays_are_complete(record));
        DET_TRY(record_event(experiment, event_kinds::created, jobs_body(record.arrays()), context));
    }
    DET_TRY(journal::write_desired(experiment.layout.desired(), DesiredState::run));
    DET_TRY_ASSIGN(auto resubmitted, resubmit_interrupted(experiment, context));
    DET_TRY(update_jobs(plan_release(experiment.view.own_arrays()), context.slurm));
    DET_TRY(update_jobs(plan_release(resubmitted), context.slurm));
    clear_requeue_delay(experiment.view, context);
    record_done(experiment, event_kinds::activated, Json::object(), context);
    if (!is_recorded(record)) run_hook_for_submission(*record.spec, record.arrays(), context);
    return ActivatedExperiment{experiment.id(), std::move(resubmitted)};
}

}  // namespace det::experiment
