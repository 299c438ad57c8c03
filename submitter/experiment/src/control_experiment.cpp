// Pause, cancel, kill and delete.
#include <det/checkpoint/storage/open_store.hpp>
#include <det/events/event_hook.hpp>
#include <det/experiment/control_experiment.hpp>
#include <det/experiment/models.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/experiment_pack/pack_lock.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/protocol/event.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/collect_garbage.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "run_event_hook.hpp"

namespace det::experiment {
namespace {

/// Writes the desired state, unless the file already has a stricter one.
Status write_stricter(std::filesystem::path const& path, DesiredState wanted) {
    DET_TRY_ASSIGN(auto const now, journal::load_newest_desired(path));
    if (stricter(now, wanted) == now) return Ok{};
    return journal::write_desired(path, wanted);
}

std::string_view message_of(DesiredState desired) {
    return desired == DesiredState::kill ? "the user killed it" : "the user cancelled it";
}

/// Removes all checkpoints of an experiment except those that other experiments start from. Returns the UUIDs
/// of the kept ones.
Result<std::vector<std::string>> remove_checkpoints(OpenExperiment const& experiment,
                                                    Context const& context) {
    std::vector<std::string> kept;
    auto const& spec = experiment.view.record.spec;
    if (!spec) return kept;
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(*spec, context.environment));
    DET_TRY_ASSIGN(auto const report, retention::collect_garbage(experiment.root, experiment.layout, *store,
                                                                 {{0, 0, 0}, context.clock.now()}));
    if (!report.failures.empty()) return report.failures.front();
    for (auto const& checkpoint : report.kept) kept.push_back(checkpoint.uuid);
    return kept;
}

/// Writes the file that marks the experiment as deleted first, so that no command shows a half removed
/// experiment. Keeps the directory itself, so that no later experiment gets its id.
Status remove_files(ExperimentLayout const& layout) {
    DET_TRY(write_file(layout.deleted(), ""));
    DET_TRY_ASSIGN(auto const names, list_directory(layout.path()));
    for (auto const& name : names) {
        if (name != layout.deleted().filename()) DET_TRY(remove_tree(layout.path() / name));
    }
    return Ok{};
}

}  // namespace

Status cancel_orphan_jobs(OpenExperiment const& experiment, Context& context) {
    DET_TRY_ASSIGN(auto const jobs, context.slurm.query_queue({user_name(context.environment), {}, false}));
    auto const known = experiment.view.record.arrays();
    auto const comment = job_comment(experiment.root, experiment.id());
    std::set<std::uint32_t> strays;
    for (auto const& job : jobs) {
        bool const is_known = std::ranges::find(known, job.ref.job, &ArrayJob::job) != known.end();
        if (job.comment == comment && !slurm::is_over(job.state) && !is_known) strays.insert(job.ref.job);
    }
    std::vector<JobUpdate> steps;
    for (auto const job : strays) steps.push_back({JobUpdate::Kind::cancel_job, {job, {}}});
    return update_jobs(steps, context.slurm);
}

Result<ExperimentId> pause_experiment(std::string const& id, Context& context) {
    DET_TRY_ASSIGN(auto const experiment, open_experiment(id, SlurmAnswer::required, context));
    auto const& view = experiment.view;
    if (lifecycle::is_terminal(view.state) || view.record.desired > DesiredState::pause) {
        return Error{codes::wrong_state, fmt::format("experiment {} can't be paused: it is {}",
                                                     experiment.id().value, to_string(view.state))};
    }
    DET_TRY(journal::write_desired(experiment.layout.desired(), DesiredState::pause));
    auto updated = update_jobs(plan_pause(view), context.slurm);
    if (!updated)
        return std::move(updated).error().noting(fmt::format(
            "experiment {} is marked to be paused; repeat the command later", experiment.id().value));
    record_done(experiment, event_kinds::paused, Json::object(), context);
    run_hook_for_trials(view, {events::paused, queued_trials(view), "the user paused it"}, context);
    return experiment.id();
}

Result<EndedExperiment> end_experiment(std::string const& id, DesiredState desired, Context& context) {
    DET_TRY_ASSIGN(auto const experiment, open_experiment(id, SlurmAnswer::required, context));
    auto const& view = experiment.view;
    if (lifecycle::is_terminal(view.state)) {
        return Error{codes::wrong_state, fmt::format("experiment {} has ended: it is {}",
                                                     experiment.id().value, to_string(view.state))};
    }
    DET_TRY(write_stricter(experiment.layout.desired(), desired));
    auto updates = plan_end(view, desired);
    auto updated = update_jobs(updates, context.slurm);
    if (!updated)
        return std::move(updated).error().noting(
            fmt::format("experiment {} is marked to end; repeat the command later", experiment.id().value));
    record_done(experiment, desired == DesiredState::kill ? event_kinds::killed : event_kinds::canceled,
                Json::object(), context);
    run_hook_for_trials(view, {events::canceled, unsupervised_trials(view), message_of(desired)}, context);
    return EndedExperiment{experiment.id(), std::move(updates)};
}

Result<TrialId> kill_trial(std::string const& text, Context& context) {
    DET_TRY_ASSIGN(auto const id, require_trial_id(text));
    DET_TRY_ASSIGN(auto const experiment,
                   open_experiment(to_string(id.experiment), SlurmAnswer::required, context));
    DET_TRY_ASSIGN(auto const trial, require_trial(experiment.view, id));
    if (lifecycle::is_terminal(trial.state)) {
        return Error{codes::wrong_state,
                     fmt::format("trial {} has ended: it is {}", to_string(id), to_string(trial.state))};
    }
    auto const layout = experiment.layout.trial(id.index);
    DET_TRY(make_directories(layout.path()));
    DET_TRY(write_stricter(layout.desired(), DesiredState::kill));
    DET_TRY(update_jobs(plan_kill(experiment.view.record, trial), context.slurm));
    record_done(experiment, event_kinds::trial_killed, Json{{"trial", to_string(id)}}, context);
    auto waiting = unsupervised_trials(experiment.view);
    std::erase_if(waiting, [&](TrialId const& each) { return each != id; });
    run_hook_for_trials(experiment.view,
                        {events::canceled, std::move(waiting), message_of(DesiredState::kill)}, context);
    return id;
}

Status check_deletable(OpenExperiment const& experiment) {
    DET_TRY_ASSIGN(auto const models, model_registry::load_registry(experiment.root));
    DET_TRY(check_not_registered(models, experiment.id()));
    auto const& view = experiment.view;
    auto const id = experiment.id().value;
    if (!lifecycle::is_terminal(view.state) && view.state != lifecycle::State::submitting) {
        return Error{codes::wrong_state,
                     fmt::format("experiment {} is {}: only an experiment that has ended is deleted", id,
                                 to_string(view.state)),
                     "end it first with 'det-submit experiment cancel' or 'kill'"};
    }
    if (!view.record.arrays().empty() && view.state == lifecycle::State::submitting) {
        return Error{codes::wrong_state, fmt::format("experiment {} has jobs in Slurm", id),
                     fmt::format("end them first with 'det-submit experiment kill {}'", id)};
    }
    return Ok{};
}

Result<std::vector<std::string>> delete_experiment(OpenExperiment const& experiment, Context& context) {
    DET_TRY(require_trusted_experiment(experiment, context));
    DET_TRY_ASSIGN(auto const lock, experiment_pack::PackLock::take(experiment.layout.path(), {}));
    DET_TRY(journal::require_not_packed(experiment.layout));
    DET_TRY_ASSIGN(auto kept, remove_checkpoints(experiment, context));
    if (experiment.view.record.spec) DET_TRY(cancel_orphan_jobs(experiment, context));
    DET_TRY(remove_files(experiment.layout));
    return kept;
}

}  // namespace det::experiment
