// The metrics of all trials of an experiment at once.
#include "experiment_metrics.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/protocol/json_number.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "series.hpp"

namespace det::tracker::api {
namespace {

using history::Axis;
using history::Curve;
using history::CurveQuery;

/// The number of pixels that the trials share. With more trials each gets fewer, at least width_min, because
/// their curves cover each other in a plot and an answer takes time to be made, sent and drawn.
constexpr std::size_t pixels_max = 40'000;
constexpr std::size_t width_min = 50;

Result<std::uint32_t> count_trials(Sources const& sources, ExperimentId id) {
    DET_TRY_ASSIGN(auto const record, sources.history.load_experiment(id));
    return record.trial_count();
}

Result<Json> experiment_metrics(Sources const& sources, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {"trial"}));
    DET_TRY_ASSIGN(auto const id, experiment_of(request));
    DET_TRY_ASSIGN(auto const record, sources.history.load_experiment(id));
    auto const count = record.trial_count();
    std::vector<history::MetricName> names;
    if (auto const wanted = text_parameter(request, "trial")) {
        auto const trial = parse_trial_id(*wanted);
        if (!trial || trial->experiment != id)
            return Error{codes::bad_request, "the parameter 'trial' is no trial of this experiment"};
        if (trial->index >= count) return history::no_such_trial(*trial);
        DET_TRY_ASSIGN(names, sources.history.list_metrics(*trial));
    } else {
        DET_TRY_ASSIGN(names, sources.history.list_metrics(id, count));
    }
    auto list = Json::array();
    for (auto const& [group, metric] : names) list.push_back({{"group", group}, {"metric", metric}});
    auto searcher = Json(nullptr);
    if (record.spec) {
        searcher = {{"metric", record.spec->searcher.metric},
                    {"smaller_is_better", record.spec->searcher.smaller_is_better}};
    }
    return Result<Json>(Json{{"metrics", std::move(list)}, {"searcher", std::move(searcher)}});
}

/// Appends a number with nine digits, which is enough for a plot.
void append_value(std::string& text, double value) {
    auto out = std::back_inserter(text);
    if (auto const name = non_finite_name(value); !name.empty()) {
        fmt::format_to(out, "\"{}\"", name);
    } else {
        fmt::format_to(out, "{:.9g}", value);
    }
}

void append_curve(std::string& text, TrialId trial, Curve const& curve, Axis axis) {
    auto out = std::back_inserter(text);
    fmt::format_to(out, "{{\"trial\":\"{}\",\"points\":{},\"x\":[", to_string(trial), curve.points);
    for (std::size_t i = 0; i < curve.values.size(); ++i) {
        if (i > 0) text += ',';
        if (axis == Axis::time) {
            fmt::format_to(out, "{}", curve.times[i].microseconds);
        } else {
            fmt::format_to(out, "{}", curve.steps[i]);
        }
    }
    text += "],\"values\":[";
    for (std::size_t i = 0; i < curve.values.size(); ++i) {
        if (i > 0) text += ',';
        append_value(text, curve.values[i]);
    }
    text += "]}";
}

Result<std::string> experiment_series(Sources const& sources, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {"group", "metric", "width", "axis", "from", "to"}));
    DET_TRY_ASSIGN(auto const id, experiment_of(request));
    DET_TRY_ASSIGN(auto query, parse_series_query(request, Axis::steps));
    DET_TRY_ASSIGN(auto const count, count_trials(sources, id));
    query.width = std::min(query.width, std::max(width_min, pixels_max / std::max(count, 1u)));
    DET_TRY_ASSIGN(auto const curves, sources.history.load_trial_curves(id, count, query));
    auto text = fmt::format("{{\"group\":{},\"metric\":{},\"trials\":[", to_line(Json(query.group)),
                            to_line(Json(query.metric)));
    for (std::uint32_t trial = 0; trial < curves.size(); ++trial) {
        if (trial > 0) text += ',';
        append_curve(text, {id, trial}, curves[trial], query.axis);
    }
    text += "]}\n";
    return text;
}

Result<Json> experiment_config(Sources const& sources, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {}));
    DET_TRY_ASSIGN(auto const id, experiment_of(request));
    DET_TRY_ASSIGN(auto const record, sources.history.load_experiment(id));
    auto const layout = ExperimentLayout(sources.root, id).at_revision(record.revision());
    DET_TRY_ASSIGN(auto const text, read_trusted_file(layout.config()));
    return Result<Json>(Json{{"text", text}});
}

}  // namespace

void add_experiment_metric_routes(Routes& routes, Sources& sources) {
    routes.push_back(get_route("/v1/experiments/{experiment}/config", [&sources](Request const& request) {
        return experiment_config(sources, request);
    }));
    routes.push_back(get_route("/v1/experiments/{experiment}/metrics", [&sources](Request const& request) {
        return experiment_metrics(sources, request);
    }));
    http::Handler series = [&sources](Request const& request) -> Response {
        auto text = experiment_series(sources, request);
        return text ? Response{200, *std::move(text)} : http::error_response(text.error());
    };
    routes.push_back({http::Method::get, "/v1/experiments/{experiment}/series", http::AuthClass::owner,
                      std::move(series)});
}

}  // namespace det::tracker::api
