#include "experiment/training_progress.hpp"

#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/search/training_length.hpp>
#include <det/tracker/history/progress.hpp>

#include <algorithm>

#include "experiment/describe_search.hpp"

namespace det::cli {
namespace {

using tracker::history::ExperimentView;
using tracker::history::RunReports;
using tracker::history::TrialView;

constexpr double extrapolated_progress_min = 0.02;

std::optional<MetricFact> find_last_value(std::vector<RunReports> const& runs, std::string const& name) {
    for (auto const* group : {"validation", "training"}) {
        for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
            for (auto report = run->metrics.rbegin(); report != run->metrics.rend(); ++report) {
                if (report->group != group || run->is_superseded(*report)) continue;
                auto const found = report->metrics->find(name);
                if (found == report->metrics->end()) continue;
                if (auto const value = number_from_json(*found))
                    return MetricFact{name, *value, report->steps_completed, {}};
            }
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> total_steps(ExperimentSpec const& spec) {
    auto const length = search::find_training_length(spec.searcher.options);
    if (!length || !length->time_metric.empty()) return std::nullopt;
    return search::to_batches(length->value, length->unit,
                              search::read_batch_size(spec.config, spec.hyperparameters));
}

}  // namespace

std::optional<double> training_speed(tracker::history::RunReports const& run) {
    constexpr std::int64_t window_us = 60'000'000;
    if (run.metrics.empty()) return std::nullopt;
    auto const& last = run.metrics.back();
    auto first = &last;
    for (auto report = run.metrics.rbegin(); report != run.metrics.rend(); ++report) {
        if (report->steps_completed >= first->steps_completed) continue;
        first = &*report;
        if (last.time.microseconds - first->time.microseconds >= window_us) break;
    }
    auto const time_us = last.time.microseconds - first->time.microseconds;
    if (time_us <= 0 || last.steps_completed <= first->steps_completed) return std::nullopt;
    return static_cast<double>(last.steps_completed - first->steps_completed) * 1e6 /
           static_cast<double>(time_us);
}

std::optional<double> extrapolate_time_left(double progress, std::optional<UtcTime> started, UtcTime now) {
    if (!started || progress < extrapolated_progress_min || *started >= now) return std::nullopt;
    auto const past_s = static_cast<double>(now.microseconds - started->microseconds) / 1e6;
    return past_s * (1 - progress) / progress;
}

TrainingProgress progress_from_reports(std::vector<RunReports> const& runs, TrialView const& trial,
                                       ExperimentSpec const& spec, UtcTime now) {
    TrainingProgress training;
    if (runs.empty()) return training;
    auto const& run = runs.back();
    training.progress = tracker::history::progress_of_trial(runs, spec);
    training.step = run.last_step ? run.last_step : run.beginning.resumed_from;
    training.steps_total = total_steps(spec);
    training.steps_per_s = training_speed(run);
    training.metric = find_last_value(runs, spec.searcher.metric);
    bool const has_speed =
        training.steps_per_s && training.step && training.steps_total.value_or(0) >= *training.step;
    if (has_speed) {
        training.time_left_s =
            static_cast<double>(*training.steps_total - *training.step) / *training.steps_per_s;
    } else if (training.progress && runs.size() == 1) {
        training.time_left_s = extrapolate_time_left(*training.progress, trial.started(), now);
    }
    return training;
}

Result<double> load_search_progress(ExperimentView const& view, ExperimentSpec const& spec,
                                    tracker::history::History& history) {
    DET_TRY_ASSIGN(auto const search, load_search_view(view, spec, history));
    if (search) return search->progress;
    double sum = 0;
    for (auto const& trial : view.trials) {
        if (lifecycle::is_terminal(trial.state)) sum += 1;
        if (trial.record.runs.empty() || lifecycle::is_terminal(trial.state)) continue;
        DET_TRY_ASSIGN(auto const runs, history.load_reports_without_metrics(trial.record.id));
        sum += tracker::history::progress_of_trial(runs, spec).value_or(0);
    }
    return sum / static_cast<double>(std::max<std::size_t>(view.trials.size(), 1));
}

}  // namespace det::cli
