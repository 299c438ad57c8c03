#include <det/protocol/json.hpp>
#include <det/tracker/history/history.hpp>

#include <limits>

namespace det::tracker::history {
namespace {

std::optional<double> find_number(Json const& value) {
    using Limits = std::numeric_limits<double>;
    if (value.is_number()) return value.get<double>();
    if (value == "NaN") return Limits::quiet_NaN();
    if (value == "Infinity") return Limits::infinity();
    if (value == "-Infinity") return -Limits::infinity();
    return std::nullopt;
}

}  // namespace

RunSeries series_of(RunReports const& run, std::string_view group, std::string_view metric,
                    SupersededReports superseded) {
    RunSeries series{run.run, {}, {}, {}};
    for (auto const& report : run.metrics) {
        if (report.group != group) continue;
        auto const found = report.metrics->find(metric);
        auto const number = found == report.metrics->end() ? std::nullopt : find_number(*found);
        if (!number || (superseded == SupersededReports::left_out && run.is_superseded(report))) continue;
        series.steps.push_back(report.steps_completed);
        series.times.push_back(report.time);
        series.values.push_back(*number);
    }
    return series;
}

Result<std::vector<std::optional<journal::BestValidation>>> History::list_best_validations(
    ExperimentId id, std::uint32_t count, ExperimentSpec const& spec) {
    std::vector<std::optional<journal::BestValidation>> all;
    for (std::uint32_t trial = 0; trial < count; ++trial) {
        DET_TRY_ASSIGN(auto best, load_best_validation({id, trial}, spec));
        all.push_back(std::move(best));
    }
    return all;
}

Result<std::vector<RunSeries>> History::load_series(TrialId id, std::string const& group,
                                                    std::string const& metric, SupersededReports superseded) {
    DET_TRY_ASSIGN(auto const runs, load_reports(id));
    std::vector<RunSeries> series;
    for (auto const& run : runs) series.push_back(series_of(run, group, metric, superseded));
    return series;
}

}  // namespace det::tracker::history
