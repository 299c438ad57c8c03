// Implementations of functions of History by its other functions. More of them are in curve.cpp,
// run_series.cpp and summary.cpp. IndexHistory overrides those that an index makes faster.
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/tracker/history/history.hpp>

#include <set>

namespace det::tracker::history {

Result<std::vector<Curve>> History::load_trial_curves(ExperimentId id, std::uint32_t count,
                                                      CurveQuery const& query) {
    std::vector<Curve> all;
    for (std::uint32_t trial = 0; trial < count; ++trial) {
        DET_TRY_ASSIGN(auto curves, load_curves({id, trial}, query));
        all.push_back(std::move(curves.front()));
    }
    return all;
}

Result<std::vector<MetricName>> History::list_metrics(TrialId id) {
    DET_TRY_ASSIGN(auto const runs, load_reports(id));
    std::set<MetricName> names;
    for (auto const& run : runs) {
        for (auto const& report : run.metrics) {
            for (auto const& [name, value] : report.metrics->items())
                if (number_from_json(value)) names.insert({report.group, name});
        }
    }
    return std::vector(names.begin(), names.end());
}

Result<std::vector<MetricName>> History::list_metrics(ExperimentId id, std::uint32_t count) {
    std::set<MetricName> names;
    for (std::uint32_t trial = 0; trial < count; ++trial) {
        DET_TRY_ASSIGN(auto const of_trial, list_metrics(TrialId{id, trial}));
        names.insert(of_trial.begin(), of_trial.end());
    }
    return std::vector(names.begin(), names.end());
}

Result<std::vector<RunReports>> History::load_reports_without_metrics(TrialId id) {
    DET_TRY_ASSIGN(auto runs, load_reports(id));
    for (auto& run : runs) run.metrics.clear();
    return runs;
}

}  // namespace det::tracker::history
