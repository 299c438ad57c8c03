#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/experiment_view.hpp>
#include <det/tracker/history/experiment_view_json.hpp>
#include <det/tracker/history/summary.hpp>

#include <algorithm>

namespace det::tracker::history {

Json to_summary_json(ExperimentView const& view) {
    auto json = to_json_without_trials(view);
    json["trial_count"] = view.trials.size();
    json["completed_trials"] =
        std::ranges::count(view.trials, lifecycle::State::completed, &TrialView::state);
    if (auto const& spec = view.record.spec) {
        json["searcher"] = {{"name", spec->searcher.name},
                            {"metric", spec->searcher.metric},
                            {"smaller_is_better", spec->searcher.smaller_is_better}};
        json["hyperparameters"] = spec->config->is_object()
                                      ? spec->config->value("hyperparameters", Json::object())
                                      : Json::object();
    }
    return json;
}

bool is_queue_independent(ExperimentRecord const& experiment, TrialRecord const& trial) {
    if (journal::find_replacement(experiment.replacements, trial.id.index)) return true;
    auto const first_run = experiment.spec ? experiment.spec->first_run_of(trial.id.index) : 0;
    if (trial.runs.size() <= first_run) return false;
    auto const& end = trial.runs.back().ended;
    return end && end->next_action == NextAction::stop;
}

bool is_queue_independent(ExperimentRecord const& experiment) {
    return std::ranges::all_of(
        experiment.trials, [&](TrialRecord const& trial) { return is_queue_independent(experiment, trial); });
}

bool matches(ExperimentRecord const& experiment, ExperimentFilter const& filter) {
    auto const now = attributes_of(experiment);
    return (filter.with_archived || !now.is_archived) &&
           (!filter.label || now.labels.contains(*filter.label)) &&
           (!filter.name || now.name.find(*filter.name) != std::string::npos) &&
           (!filter.owner || (experiment.spec && experiment.spec->owner == *filter.owner));
}

std::pair<ExperimentSummary, std::optional<lifecycle::State>> summarise(ExperimentRecord experiment) {
    auto const id = experiment.id;
    if (!is_queue_independent(experiment)) return {{id, {}, {}}, std::nullopt};
    auto const view = view_experiment(std::move(experiment), {});
    return {{id, to_line(to_summary_json(view)), {}}, view.state};
}

Result<ExperimentPage> History::list_summaries(ExperimentFilter const& filter) {
    DET_TRY_ASSIGN(auto ids, list_experiments());
    std::ranges::reverse(ids);
    ExperimentPage page;
    for (auto const id : ids) {
        if (filter.before && id.value >= *filter.before) continue;
        auto record = load_experiment(id);
        if (record && !matches(*record, filter)) continue;
        std::pair<ExperimentSummary, std::optional<lifecycle::State>> found;
        if (record) {
            found = summarise(*std::move(record));
        } else {
            found.first = {id, {}, std::move(record).error()};
        }
        if (filter.state && found.second && *found.second != *filter.state) continue;
        page.has_more = page.experiments.size() == filter.limit;
        if (page.has_more) break;
        page.experiments.push_back(std::move(found.first));
    }
    return page;
}

}  // namespace det::tracker::history
