#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/dependencies.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/trial_replacements.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <fmt/format.h>
#include <set>

namespace det::journal {
namespace {

bool is_to_end(DesiredState desired) {
    return desired == DesiredState::cancel || desired == DesiredState::kill;
}

/// The last recorded end of the run; nullopt if none is recorded.
Result<std::optional<RunEnded>> load_end(RunLayout const& run) {
    DET_TRY_ASSIGN(auto const life, load_journal(run.supervisor_journal()));
    std::optional<RunEnded> end;
    for (auto const& record : life.records) {
        if (auto const* ended = std::get_if<RunEnded>(&record)) end = *ended;
    }
    return end;
}

Result<DependencyState> state_of_trial(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                       std::uint32_t index) {
    auto const trial = experiment.trial(index);
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
    DET_TRY_ASSIGN(auto const desired, load_desired(experiment.desired()));
    DET_TRY_ASSIGN(auto const own, load_desired(trial.desired()));
    // A trial that was cancelled while it waited in the queue for a run gets no further run.
    auto const if_waiting =
        is_to_end(stricter(desired, own)) ? DependencyState::ended_badly : DependencyState::open;
    if (runs.empty() || runs.back() < spec.first_run_of(index)) return if_waiting;
    DET_TRY_ASSIGN(auto const end, load_end(trial.run(runs.back())));
    if (!end || end->next_action == NextAction::restart_in_place) return DependencyState::open;
    if (end->next_action != NextAction::stop) return if_waiting;
    bool const is_complete = end->cause == Cause::finished || end->cause == Cause::stopped_by_search;
    return is_complete ? DependencyState::ended_well : DependencyState::ended_badly;
}

Result<DependencyState> state_of_experiment(ExperimentLayout const& experiment, ExperimentSpec const& spec) {
    DET_TRY_ASSIGN(auto const replacements, load_replacements(experiment, spec.trial_count));
    std::set<DependencyState> states;
    auto const add = [&](std::uint32_t trial) -> Result<bool> {
        DET_TRY_ASSIGN(auto const state, state_of_trial(experiment, spec, trial));
        states.insert(state);
        return state != DependencyState::open;
    };
    for (std::uint32_t trial = 0; trial < spec.trial_count; ++trial) {
        DET_TRY_ASSIGN(bool const has_ended, add(trial));
        if (!has_ended) return DependencyState::open;
    }
    for (auto const& [trial, replaced] : replacements) {
        DET_TRY_ASSIGN(bool const has_ended, add(trial));
        if (!has_ended) return DependencyState::open;
    }
    DET_TRY_ASSIGN(auto const desired, load_desired(experiment.desired()));
    bool const is_cut_short = is_to_end(desired) && states.contains(DependencyState::ended_badly);
    bool const is_good = states.contains(DependencyState::ended_well) && !is_cut_short;
    return is_good ? DependencyState::ended_well : DependencyState::ended_badly;
}

/// The state of a packed experiment, or of one of its trials; nullopt if it is not packed.
Result<std::optional<DependencyState>> find_packed_state(ExperimentLayout const& experiment,
                                                         Dependency const& dependency) {
    if (path_exists(experiment.spec())) return std::optional<DependencyState>();
    DET_TRY_ASSIGN(auto const summary, find_pack_summary(experiment));
    if (!summary) return std::optional<DependencyState>();
    if (!dependency.trial) return std::optional(summary->state);
    auto const found = summary->trials.find(*dependency.trial);
    if (found != summary->trials.end()) return std::optional(found->second);
    return Error{codes::no_such_trial, fmt::format("there is no {}", describe(dependency))};
}

}  // namespace

std::optional<Dependency> parse_dependency(std::string_view text) {
    if (auto const experiment = parse_experiment_id(text)) return Dependency{*experiment, {}};
    if (text.find('.') == std::string_view::npos) return std::nullopt;
    auto const trial = parse_trial_id(text);
    return trial ? std::optional(Dependency{trial->experiment, trial->index}) : std::nullopt;
}

std::string describe(Dependency const& dependency) {
    if (!dependency.trial) return fmt::format("experiment {}", dependency.experiment.value);
    return "trial " + to_string(TrialId{dependency.experiment, *dependency.trial});
}

Result<DependencyState> load_dependency_state(RootLayout const& root, Dependency const& dependency) {
    ExperimentLayout const layout(root, dependency.experiment);
    DET_TRY_ASSIGN(auto const packed, find_packed_state(layout, dependency));
    if (packed) return *packed;
    auto const spec = load_spec(layout);
    if (!spec && spec.error().code == codes::no_such_file)
        return Error{codes::no_such_experiment, fmt::format("there is no {}", describe(dependency))};
    if (!spec) return spec.error();
    auto const experiment = layout.at_revision(spec->revision());
    if (!dependency.trial) return state_of_experiment(experiment, *spec);
    DET_TRY_ASSIGN(auto const replacements, load_replacements(experiment, spec->trial_count));
    if (*dependency.trial >= spec->trial_count && !replacements.contains(*dependency.trial))
        return Error{codes::no_such_trial, fmt::format("there is no {}", describe(dependency))};
    return state_of_trial(experiment, *spec, *dependency.trial);
}

Result<std::map<std::uint32_t, DependencyState>> load_trial_states(ExperimentLayout const& experiment,
                                                                   ExperimentSpec const& spec) {
    std::map<std::uint32_t, DependencyState> states;
    DET_TRY_ASSIGN(auto const replacements, load_replacements(experiment, spec.trial_count));
    for (std::uint32_t trial = 0; trial < spec.trial_count; ++trial) {
        DET_TRY_ASSIGN(states[trial], state_of_trial(experiment, spec, trial));
    }
    for (auto const& [trial, replaced] : replacements) {
        DET_TRY_ASSIGN(states[trial], state_of_trial(experiment, spec, trial));
    }
    return states;
}

}  // namespace det::journal
