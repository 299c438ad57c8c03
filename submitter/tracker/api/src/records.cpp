// The records of History as they are, for HttpHistory.
#include "records.hpp"

#include <det/protocol/json.hpp>
#include <det/tracker/history/record_json.hpp>

namespace det::tracker::api {
namespace {

Result<Json> list_experiments(history::History& history) {
    DET_TRY_ASSIGN(auto const ids, history.list_experiments());
    auto numbers = Json::array();
    for (auto const id : ids) numbers.push_back(id.value);
    return Json{{"experiments", std::move(numbers)}};
}

Result<Json> load_reports(history::History& history, Request const& request) {
    DET_TRY_ASSIGN(auto const trial, trial_of(request));
    DET_TRY_ASSIGN(auto const reports, history.load_reports(trial));
    auto runs = Json::array();
    for (auto const& run : reports) runs.push_back(history::to_json(run));
    return Json{{"runs", std::move(runs)}};
}

Result<Json> load_rung(history::History& history, Request const& request) {
    DET_TRY_ASSIGN(auto const experiment, experiment_of(request));
    DET_TRY_ASSIGN(auto const bracket, number_in_path(request, "bracket"));
    DET_TRY_ASSIGN(auto const rung, number_in_path(request, "rung"));
    DET_TRY_ASSIGN(auto const entries, history.load_rung(experiment, bracket, rung));
    auto names = Json::array();
    for (auto const& entry : entries) names.push_back(search::rung_entry_name(entry));
    return Json{{"entries", std::move(names)}};
}

Result<Json> load_best_validation(history::History& history, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {"metric", "smaller_is_better"}));
    DET_TRY_ASSIGN(auto const trial, trial_of(request));
    DET_TRY_ASSIGN(auto const record, history.load_experiment(trial.experiment));
    if (!record.spec) return Json{{"best", nullptr}};
    auto spec = *record.spec;
    DET_TRY_ASSIGN(spec.searcher.metric, require_parameter(request, "metric"));
    DET_TRY_ASSIGN(spec.searcher.smaller_is_better, flag_parameter(request, "smaller_is_better"));
    DET_TRY_ASSIGN(auto const best, history.load_best_validation(trial, spec));
    if (!best) return Json{{"best", nullptr}};
    return Json{{"best", {{"value", best->value}, {"steps_completed", best->steps_completed}}}};
}

}  // namespace

void add_record_routes(Routes& routes, Sources& sources) {
    auto& history = sources.history;
    routes.push_back(get_route("/v1/records/experiments", [&history](Request const& request) -> Result<Json> {
        DET_TRY(reject_unknown_parameters(request, {}));
        return list_experiments(history);
    }));
    routes.push_back(
        get_route("/v1/records/experiments/{experiment}", [&history](Request const& request) -> Result<Json> {
            DET_TRY(reject_unknown_parameters(request, {}));
            DET_TRY_ASSIGN(auto const id, experiment_of(request));
            DET_TRY_ASSIGN(auto const record, history.load_experiment(id));
            return history::to_json(record);
        }));
    routes.push_back(get_route("/v1/records/experiments/{experiment}/rungs/{bracket}/{rung}",
                               [&history](Request const& request) -> Result<Json> {
                                   DET_TRY(reject_unknown_parameters(request, {}));
                                   return load_rung(history, request);
                               }));
    routes.push_back(
        get_route("/v1/records/trials/{trial}/reports", [&history](Request const& request) -> Result<Json> {
            DET_TRY(reject_unknown_parameters(request, {}));
            return load_reports(history, request);
        }));
    routes.push_back(
        get_route("/v1/records/trials/{trial}/best-validation",
                  [&history](Request const& request) { return load_best_validation(history, request); }));
}

}  // namespace det::tracker::api
