// Metrics as curves, reduced to the pixels of a plot.
#include "series.hpp"

#include <det/foundation/files.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json_number.hpp>
#include <det/protocol/json_or_null.hpp>

#include <algorithm>
#include <map>

namespace det::tracker::api {
namespace {

using history::Axis;
using history::Curve;
using history::CurveQuery;

constexpr std::size_t width_max = 10000;

Json curves_json(std::vector<Curve> const& curves, CurveQuery const& query) {
    auto list = Json::array();
    for (auto const& curve : curves) {
        auto times = Json::array(), values = Json::array();
        for (auto const time : curve.times) times.push_back(time.microseconds);
        for (auto const value : curve.values) values.push_back(number_to_json(value));
        list.push_back({{"run", json_or_null(curve.run)},
                        {"points", curve.points},
                        {"steps", curve.steps},
                        {"times_us", std::move(times)},
                        {"values", std::move(values)}});
    }
    return {{"group", query.group}, {"metric", query.metric}, {"curves", std::move(list)}};
}

Result<Json> trial_series(history::History& history, Request const& request) {
    DET_TRY(
        reject_unknown_parameters(request, {"group", "metric", "width", "axis", "from", "to", "all_runs"}));
    DET_TRY_ASSIGN(auto const trial, trial_of(request));
    DET_TRY_ASSIGN(auto const query, parse_series_query(request, Axis::steps));
    DET_TRY_ASSIGN(auto const curves, history.load_curves(trial, query));
    return curves_json(curves, query);
}

/// The reports of a node during a run: its system metrics and waits.
Result<history::RunReports> load_node_reports(Sources const& sources, Request const& request) {
    DET_TRY_ASSIGN(auto const trial, trial_of(request));
    DET_TRY_ASSIGN(auto const run, number_in_path(request, "run"));
    DET_TRY_ASSIGN(auto const node, number_in_path(request, "node"));
    DET_TRY_ASSIGN(auto const record, sources.history.load_experiment(trial.experiment));
    if (trial.index >= record.trials.size() || run >= record.trials[trial.index].runs.size())
        return Error{codes::no_such_trial, "there is no such run", "see /v1/trials/{trial}"};
    auto const layout = ExperimentLayout(sources.root, trial.experiment).trial(trial.index).run(run);
    auto const index = static_cast<int>(std::min<std::uint32_t>(node, 1'000'000));
    history::RunReports reports;
    reports.run = run;
    for (auto const& path : {layout.node_metrics(index), layout.node_waits(index)}) {
        DET_TRY_ASSIGN(auto journal, journal::load_journal(path));
        for (auto& found : journal.records) {
            if (auto* report = std::get_if<MetricsReported>(&found))
                reports.metrics.push_back(std::move(*report));
        }
    }
    return reports;
}

Result<Json> node_series(Sources const& sources, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {"group", "metric", "width", "axis", "from", "to"}));
    DET_TRY_ASSIGN(auto query, parse_series_query(request, Axis::time));
    DET_TRY_ASSIGN(auto const reports, load_node_reports(sources, request));
    query.all_runs = true;  // of this run
    auto const series =
        history::series_of(reports, query.group, query.metric, history::SupersededReports::included);
    return curves_json(history::downsample_series({series}, query), query);
}

/// How many numbers a metric has, and the last one.
struct Summary {
    std::uint64_t points = 0;
    std::uint64_t steps = 0;
    double last = 0;
};
using Summaries = std::map<std::pair<std::string, std::string>, Summary>;

void add(Summaries& summaries, history::RunReports const& run, history::SupersededReports superseded) {
    journal::LowestRanks const lowest(run.metrics);
    for (auto const& report : run.metrics) {
        if (superseded == history::SupersededReports::left_out && run.is_superseded(report)) continue;
        for (auto const& [name, value] : report.metrics->items()) {
            auto const number = number_from_json(value);
            if (!number || !lowest.counts(report, name)) continue;
            auto& summary = summaries[{report.group, name}];
            ++summary.points;
            summary.steps = report.steps_completed;
            summary.last = *number;
        }
    }
}

Json summaries_json(Summaries const& summaries) {
    auto list = Json::array();
    for (auto const& [key, summary] : summaries) {
        list.push_back({{"group", key.first},
                        {"metric", key.second},
                        {"points", summary.points},
                        {"last_steps", summary.steps},
                        {"last", number_to_json(summary.last)}});
    }
    return {{"metrics", std::move(list)}};
}

Result<Json> trial_metrics(history::History& history, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {"all_runs"}));
    DET_TRY_ASSIGN(auto const trial, trial_of(request));
    DET_TRY_ASSIGN(auto const all_runs, flag_parameter(request, "all_runs"));
    DET_TRY_ASSIGN(auto const runs, history.load_reports(trial));
    auto const superseded =
        all_runs ? history::SupersededReports::included : history::SupersededReports::left_out;
    Summaries summaries;
    for (auto const& run : runs) add(summaries, run, superseded);
    return summaries_json(summaries);
}

Result<Json> node_metrics(Sources const& sources, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {}));
    DET_TRY_ASSIGN(auto const reports, load_node_reports(sources, request));
    Summaries summaries;
    add(summaries, reports, history::SupersededReports::included);
    return summaries_json(summaries);
}

}  // namespace

Result<CurveQuery> parse_series_query(Request const& request, Axis default_axis) {
    CurveQuery query;
    query.axis = default_axis;
    DET_TRY_ASSIGN(query.group, require_parameter(request, "group"));
    DET_TRY_ASSIGN(query.metric, require_parameter(request, "metric"));
    DET_TRY_ASSIGN(auto const width, integer_parameter(request, "width"));
    if (width && (*width == 0 || *width > width_max))
        return Error{codes::bad_request, "the parameter 'width' is not between 1 and 10000"};
    query.width = width.value_or(query.width);
    auto const axis = text_parameter(request, "axis");
    if (axis && *axis != "steps" && *axis != "time")
        return Error{codes::bad_request, "the parameter 'axis' is not 'steps' or 'time'"};
    if (axis) query.axis = *axis == "time" ? Axis::time : Axis::steps;
    DET_TRY_ASSIGN(query.from, number_parameter(request, "from"));
    DET_TRY_ASSIGN(query.to, number_parameter(request, "to"));
    DET_TRY_ASSIGN(query.all_runs, flag_parameter(request, "all_runs"));
    return query;
}

void add_series_routes(Routes& routes, Sources& sources) {
    auto& history = sources.history;
    routes.push_back(get_route("/v1/trials/{trial}/metrics", [&history](Request const& request) {
        return trial_metrics(history, request);
    }));
    routes.push_back(get_route("/v1/trials/{trial}/series", [&history](Request const& request) {
        return trial_series(history, request);
    }));
    routes.push_back(
        get_route("/v1/trials/{trial}/runs/{run}/nodes/{node}/metrics",
                  [&sources](Request const& request) { return node_metrics(sources, request); }));
    routes.push_back(get_route("/v1/trials/{trial}/runs/{run}/nodes/{node}/series",
                               [&sources](Request const& request) { return node_series(sources, request); }));
}

}  // namespace det::tracker::api
