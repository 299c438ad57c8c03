#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/tracker/history/history.hpp>

#include <unordered_set>

namespace det::tracker::history {

RunSeries merge_ranks(std::vector<RunSeries> of_ranks) {
    if (of_ranks.size() == 1) return std::move(of_ranks.front());
    struct Point {
        std::uint64_t step;
        UtcTime time;
        double value;
    };
    std::vector<std::vector<Point>> points(of_ranks.size());
    std::unordered_set<std::uint64_t> steps_of_lower_ranks;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
        auto const& series = of_ranks[rank];
        for (std::size_t i = 0; i < series.size(); ++i) {
            if (!steps_of_lower_ranks.contains(series.steps[i]))
                points[rank].push_back({series.steps[i], series.times[i], series.values[i]});
        }
        steps_of_lower_ranks.insert(series.steps.begin(), series.steps.end());
    }
    RunSeries merged{of_ranks.front().run, {}, {}, {}};
    for (auto const& point :
         journal::merge_by_time(std::move(points), [](Point const& each) { return each.time; })) {
        merged.steps.push_back(point.step);
        merged.times.push_back(point.time);
        merged.values.push_back(point.value);
    }
    return merged;
}

RunSeries series_of(RunReports const& run, std::string_view group, std::string_view metric,
                    SupersededReports superseded) {
    RunSeries series{run.run, {}, {}, {}};
    journal::LowestRanks const lowest(run.metrics);
    for (auto const& report : run.metrics) {
        if (report.group != group) continue;
        auto const found = report.metrics->find(metric);
        auto const number = found == report.metrics->end() ? std::nullopt : number_from_json(*found);
        if (!number || (superseded == SupersededReports::left_out && run.is_superseded(report))) continue;
        if (!lowest.counts(report, metric)) continue;
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
