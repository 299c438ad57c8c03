// Pause, cancel, kill, delete, and the limit of slots.
#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/life_cycle.hpp>
#include <det/experiment/root.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/collect_garbage.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace det::experiment {
namespace {

/// Writes the desired state, unless the file already has a stricter one.
Status write_stricter(std::filesystem::path const& path, Desired wanted) {
    DET_TRY_ASSIGN(auto const now, journal::load_desired(path));
    if (stricter(now, wanted) == now) return Ok{};
    return journal::write_desired(path, wanted);
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

/// Returns the number of tasks of an array that may run at the same time: the array's share of `running_max`,
/// proportional to its number of trials, at least one.
std::uint32_t share_of(ArrayJob const& array, std::uint32_t running_max, std::uint32_t trial_count) {
    auto const size = std::min(array.trial_count, trial_count);
    auto const share = std::uint64_t{running_max} * size / std::max(1u, trial_count);
    return std::max(1u, static_cast<std::uint32_t>(share));
}

Status limit_arrays(tracker::history::ExperimentRecord const& record, std::uint32_t running_max,
                    slurm::SlurmClient& slurm) {
    for (auto const& array : record.arrays()) {
        auto done = slurm.change(
            {array.job, {}}, {.running_tasks_max = share_of(array, running_max, record.spec->trial_count)});
        if (done || has_ended(done.error())) continue;
        auto error = std::move(done).error();
        // Since Slurm 23.02 only operators may change the limit of running tasks (ArrayTaskThrottle).
        if (error.code == codes::slurm_refused) {
            error.hint =
                "a Slurm operator can change it; or cancel it and create it again with "
                "searcher.max_concurrent_trials or resources.max_slots; 'scontrol hold' keeps single trials "
                "from starting";
        }
        return error;
    }
    return Ok{};
}

}  // namespace

Status cancel_orphan_jobs(OpenExperiment const& experiment, Context& context) {
    DET_TRY_ASSIGN(auto const jobs, context.slurm.queue({user_name(context.environment), {}, false}));
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
    DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(id, context));
    auto const& view = experiment.view;
    if (lifecycle::is_terminal(view.state) || view.record.desired > Desired::pause) {
        return Error{codes::wrong_state, fmt::format("experiment {} can't be paused: it is {}",
                                                     experiment.id().value, to_string(view.state))};
    }
    DET_TRY(journal::write_desired(experiment.layout.desired(), Desired::pause));
    auto updated = update_jobs(plan_pause(view), context.slurm);
    if (updated) return experiment.id();
    return std::move(updated).error().noting(
        fmt::format("experiment {} is marked to be paused; repeat the command later", experiment.id().value));
}

Result<EndedExperiment> end_experiment(std::string const& id, Desired desired, Context& context) {
    DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(id, context));
    auto const& view = experiment.view;
    if (lifecycle::is_terminal(view.state)) {
        return Error{codes::wrong_state, fmt::format("experiment {} has ended: it is {}",
                                                     experiment.id().value, to_string(view.state))};
    }
    DET_TRY(write_stricter(experiment.layout.desired(), desired));
    auto updates = plan_end(view, desired);
    auto updated = update_jobs(updates, context.slurm);
    if (updated) return EndedExperiment{experiment.id(), std::move(updates)};
    return std::move(updated).error().noting(
        fmt::format("experiment {} is marked to end; repeat the command later", experiment.id().value));
}

Result<TrialId> kill_trial(std::string const& text, Context& context) {
    DET_TRY_ASSIGN(auto const id, require_trial_id(text));
    DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(to_string(id.experiment), context));
    DET_TRY_ASSIGN(auto const trial, require_trial(experiment.view, id));
    if (lifecycle::is_terminal(trial.state)) {
        return Error{codes::wrong_state,
                     fmt::format("trial {} has ended: it is {}", to_string(id), to_string(trial.state))};
    }
    auto const layout = experiment.layout.trial(id.index);
    DET_TRY(make_directories(layout.path()));
    DET_TRY(write_stricter(layout.desired(), Desired::kill));
    DET_TRY(update_jobs(plan_kill(experiment.view.record, trial), context.slurm));
    return id;
}

Status check_deletable(OpenExperiment const& experiment) {
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
    DET_TRY_ASSIGN(auto kept, remove_checkpoints(experiment, context));
    if (experiment.view.record.spec) DET_TRY(cancel_orphan_jobs(experiment, context));
    DET_TRY(remove_files(experiment.layout));
    return kept;
}

Result<ExperimentId> limit_slots(std::string const& id, std::uint32_t slots, Context& context) {
    DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(id, context));
    auto const& record = experiment.view.record;
    if (lifecycle::is_terminal(experiment.view.state) || !record.spec) {
        return Error{codes::wrong_state,
                     fmt::format("experiment {} is {}: nothing is left to limit", experiment.id().value,
                                 to_string(experiment.view.state))};
    }
    auto const lanes = record.spec->lanes;
    auto const per_job = static_cast<std::uint32_t>(record.spec->shape.ranks()) * lanes;
    if (slots < per_job) {
        auto const what =
            lanes == 1 ? "one trial has" : fmt::format("{} trials that share a node have", lanes);
        return Error{codes::usage,
                     fmt::format("{} {} slots: nothing runs with at most {}", what, per_job, slots),
                     fmt::format("use at least {}", per_job)};
    }
    DET_TRY(limit_arrays(record, slots / per_job, context.slurm));
    auto [kind, body] = tracker::history::changes::set_max_slots(slots);
    DET_TRY(record_event(experiment, kind, std::move(body), context));
    return experiment.id();
}

}  // namespace det::experiment
