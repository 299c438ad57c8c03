#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/continue_experiment.hpp>
#include <det/experiment/submit_arrays.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "make_spec.hpp"
#include "submit_continuation.hpp"

namespace det::experiment {
namespace {

using lifecycle::State;

Error wrong_state(std::string message, std::string hint = "") {
    return {codes::wrong_state, std::move(message), std::move(hint)};
}

Status check_over(tracker::history::ExperimentView const& experiment) {
    auto const id = experiment.record.id.value;
    if (!experiment.record.spec || experiment.state == State::submitting) {
        return wrong_state(fmt::format("experiment {} never reached Slurm: its creation was interrupted", id),
                           fmt::format("create it again; 'det-submit experiment kill {}' ends this one", id));
    }
    if (tracker::history::attributes_of(experiment.record).is_archived) {
        return wrong_state(fmt::format("experiment {} is archived", id),
                           fmt::format("'det-submit experiment unarchive {}' comes first", id));
    }
    if (lifecycle::is_terminal(experiment.state)) return Ok{};
    bool const waits_for_user = experiment.state == State::paused || experiment.state == State::interrupted;
    return wrong_state(
        fmt::format("experiment {} has not ended: it is {}", id, to_string(experiment.state)),
        waits_for_user
            ? fmt::format("'det-submit experiment activate {}' resumes it as it is", id)
            : fmt::format("wait for its end, or end it with 'det-submit experiment cancel {}'", id));
}

/// Returns the trials that a continuation runs. codes::wrong_state if there is nothing to continue.
Result<std::vector<std::uint32_t>> plan_continuation(tracker::history::ExperimentView const& experiment) {
    DET_TRY(check_over(experiment));
    auto const id = experiment.record.id.value;
    auto const& searcher = experiment.record.spec->searcher.name;
    if (searcher == "single") return std::vector<std::uint32_t>{0};
    if (searcher != "grid" && searcher != "random") {
        return wrong_state(
            fmt::format("experiment {} has the searcher '{}': what it would do next depends on "
                        "trials that have ended",
                        id, searcher),
            fmt::format("single, grid and random searches are continued; 'det-submit "
                        "experiment fork {}' makes a new one",
                        id));
    }
    std::vector<std::uint32_t> trials;
    for (auto const& trial : experiment.trials) {
        if (trial.state != State::completed) trials.push_back(trial.record.id.index);
    }
    if (!trials.empty()) return trials;
    return wrong_state(fmt::format("all trials of experiment {} have completed: nothing is left to run", id),
                       fmt::format("'det-submit experiment fork {}' makes a new one", id));
}

/// Returns true if the experiment was continued and no continued trial has begun since. The jobs of that
/// continuation may still be held.
bool has_just_been_continued(tracker::history::ExperimentView const& experiment) {
    auto const& record = experiment.record;
    if (record.revision() == 0 || experiment.state != State::queued || record.desired != Desired::run)
        return false;
    return std::ranges::all_of(record.spec->revisions.back().first_runs, [&](auto const& pair) {
        return record.trials.at(pair.first).runs.size() == pair.second;
    });
}

Result<SubmissionRequest, Diagnostics> prepare(OpenExperiment const& experiment,
                                               ContinueOptions const& wanted, Context& context) {
    auto const& record = experiment.view.record;
    SubmissionOptions options;
    options.sources = {experiment.layout.config(), {}, wanted.overrides};
    options.sources.secrets = experiment.layout.secrets();
    options.sources.changes = wanted.changes;
    options.packed_code = record.spec->context;
    options.parent = record.spec->parent;
    DET_TRY_ASSIGN(auto request, prepare_submission(std::move(options), context));
    DET_TRY(find_stored_code(request));
    return request;
}

/// Finishes the last continuation again. No trial of it has begun. codes::wrong_state if the requested
/// configuration differs from that of the last continuation.
Result<ContinuedExperiment, Diagnostics> repeat(OpenExperiment experiment, ContinueOptions const& options,
                                                Context& context) {
    auto const& record = experiment.view.record;
    DET_TRY_ASSIGN(auto const request, prepare(experiment, options, context));
    if (!find_changes(*record.spec, request.config).empty()) {
        return wrong_state(
            fmt::format("experiment {} was continued already, with another configuration", record.id.value),
            fmt::format("end it with 'det-submit experiment cancel {}' first", record.id.value));
    }
    std::vector<std::uint32_t> trials;
    for (auto const& [trial, run] : record.spec->revisions.back().first_runs) trials.push_back(trial);
    auto arrays = pick_tasks(record.arrays(), trials);
    auto const revision = record.revision();
    DET_TRY(finish_continuation(experiment.layout, arrays, context));
    return ContinuedExperiment{std::move(experiment), revision, {}, std::move(trials), std::move(arrays)};
}

}  // namespace

Result<ContinuedExperiment, Diagnostics> continue_experiment(ContinueOptions const& options,
                                                             Context& context) {
    DET_TRY_ASSIGN(auto experiment, open_experiment_with_jobs(options.id, context));
    if (has_just_been_continued(experiment.view)) return repeat(std::move(experiment), options, context);
    DET_TRY_ASSIGN(auto trials, plan_continuation(experiment.view));
    DET_TRY_ASSIGN(auto request, prepare(experiment, options, context));
    auto const& before = *experiment.view.record.spec;
    auto changes = find_changes(before, request.config);
    auto refused = check_changes(changes);
    auto const after = make_spec(request, before.id, before.context, {});
    if (before.searcher.name != "single") refused.append(check_points(before, after, trials, changes));
    if (refused.has_errors()) return refused;
    Continuation continuation{std::move(experiment), std::move(request), std::move(changes),
                              std::move(trials)};
    DET_TRY_ASSIGN(auto submitted, submit_continuation(continuation, context));
    return ContinuedExperiment{std::move(continuation.experiment), submitted.revision,
                               std::move(continuation.changes), std::move(continuation.trials),
                               std::move(submitted.arrays)};
}

std::vector<std::uint32_t> find_trials_without_checkpoint(ContinuedExperiment const& continued,
                                                          Environment const& environment) {
    auto const& record = continued.experiment.view.record;
    auto const store = checkpoint::storage::open_store(*record.spec, environment);
    if (!store) return {};
    auto const checkpoints =
        retention::list_stored_checkpoints(continued.experiment.layout, *record.spec, **store);
    if (!checkpoints) return {};
    std::vector<std::uint32_t> without;
    for (auto const trial : continued.trials) {
        bool const has_run = !record.trials.at(trial).runs.empty();
        if (has_run &&
            std::ranges::find(*checkpoints, trial, &retention::KnownCheckpoint::trial) == checkpoints->end())
            without.push_back(trial);
    }
    return without;
}

}  // namespace det::experiment
