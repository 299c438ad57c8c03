#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/journal/merge_ranks.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>
#include <set>

#include "command.hpp"
#include "output/load_interruptions.hpp"
#include "output/metric_reports.hpp"
#include "output/no_such_name.hpp"
#include "output/output_style.hpp"
#include "output/plot.hpp"

namespace det::cli {
namespace {

/// Group and name of a metric.
using MetricKey = std::pair<std::string, std::string>;

/// Removes the values of ranks where a lower rank has reported the step, because a curve has one value for a
/// step.
void leave_lowest_ranks(tracker::history::RunReports& run) {
    journal::LowestRanks const lowest(run.metrics);
    for (auto& report : run.metrics) {
        auto counted = Json::object();
        for (auto const& [name, value] : report.metrics->items())
            if (lowest.counts(report, name)) counted[name] = value;
        report.metrics = std::move(counted);
    }
}

/// The reports as curves: one plot for each metric, with a curve for each trial that has numbers.
struct Plot {
    MetricKey metric;
    std::vector<Curve> curves;
};

void add_point(std::vector<Plot>& plots, MetricKey const& metric, std::string const& trial, PlotPoint point) {
    auto plot = std::ranges::find(plots, metric, &Plot::metric);
    if (plot == plots.end()) plot = plots.insert(plot, Plot{metric, {}});
    if (plot->curves.empty() || plot->curves.back().label != trial) plot->curves.push_back({trial, {}});
    plot->curves.back().points.push_back(point);
}

class TrialMetrics final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &ids_, "the trials", Need::required},
                {"--group", &group_, "only this group of metrics"},
                {"--metric", &metric_, "only the metric of this name"},
                {"--all-runs", &all_runs_, "also the reports that a later run superseded"},
                {"--csv", &csv_, "print comma-separated values"},
                {"--plot", &plot_, "draw curves"}};
    }

    Outcome run(Session& session) override {
        if (csv_ + plot_ + session.wants_json() > 1)
            return Error{codes::usage, "--csv, --plot and --json exclude each other"};
        DET_TRY_ASSIGN(auto const reports, load(session));
        ReportColumns const columns{ids_.size() > 1, all_runs_};
        if (session.wants_json()) {
            session.answer(reports_json(reports));
        } else if (csv_) {
            session.out << values_table(reports, columns).render_csv();
        } else if (plot_) {
            auto const text = as_plots(reports, output_style_of(session.environment, session.destination));
            session.out << text;
            if (text.empty()) session.say("no numbers to draw");
        } else {
            auto const answer = answer_style_of(session);
            session.out << reports_table(reports, columns, answer).render(answer);
        }
        return ExitCode::done;
    }

private:
    Result<std::vector<ShownReport>> load(Session& session) const {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        auto const history = session.open_journals(root);
        std::vector<ShownReport> shown;
        std::set<MetricKey> reported;
        bool may_report_more = false;
        for (auto const& text : ids_) {
            DET_TRY_ASSIGN(auto const id, experiment::require_trial_id(text));
            DET_TRY_ASSIGN(auto runs, history->load_reports(id));
            DET_TRY_ASSIGN(bool const has_ended, has_trial_ended(*history, id));
            may_report_more = may_report_more || !has_ended;
            for (auto& run : runs) {
                if (plot_) leave_lowest_ranks(run);
                for (auto& report : run.metrics) {
                    for (auto const& [name, value] : report.metrics->items())
                        reported.emplace(report.group, name);
                    bool const is_superseded = run.is_superseded(report);
                    if (!is_wanted(report) || (is_superseded && !all_runs_)) continue;
                    if (metric_) report.metrics = Json{{*metric_, report.metrics->at(*metric_)}};
                    shown.push_back({id, run.run, is_superseded, std::move(report)});
                }
            }
        }
        auto found = require_reported(reported);
        if (!found && !may_report_more) return std::move(found).error();
        if (!found) session.warn(std::move(found).error());
        return shown;
    }

    /// Whether no further run of the trial will report anything.
    static Result<bool> has_trial_ended(tracker::history::JournalHistory& history, TrialId id) {
        DET_TRY_ASSIGN(auto const experiment, history.load_experiment_without_trials(id.experiment));
        DET_TRY_ASSIGN(auto const trial, history.load_trial(experiment, id.index));
        if (trial.runs.empty()) return false;
        auto const& end = trial.runs.back().ended;
        return end && end->next_action == NextAction::stop;
    }

    /// Fails if none of the trials has reported the group or the metric that the user asks for.
    Status require_reported(std::set<MetricKey> const& reported) const {
        std::set<std::string> groups, metrics;
        for (auto const& [group, metric] : reported) {
            groups.insert(group);
            if (!group_ || group == *group_) metrics.insert(metric);
        }
        auto const place =
            fmt::format("{} {}", ids_.size() == 1 ? "trial" : "the trials", fmt::join(ids_, ", "));
        if (group_ && !groups.contains(*group_))
            return no_such_name(codes::no_such_metric, "group of metrics", *group_, place, groups);
        if (metric_ && !metrics.contains(*metric_)) {
            auto const within = group_ ? fmt::format("the group '{}' of {}", *group_, place) : place;
            return no_such_name(codes::no_such_metric, "metric", *metric_, within, metrics);
        }
        return Ok{};
    }

    bool is_wanted(MetricsReported const& report) const {
        return (!group_ || report.group == *group_) && (!metric_ || report.metrics->contains(*metric_));
    }

    std::string as_plots(std::vector<ShownReport> const& reports, OutputStyle const& style) const {
        std::vector<Plot> plots;
        for (auto const& shown : reports) {
            for (auto const& [name, value] : shown.report.metrics->items()) {
                if (auto const number = number_from_json(value))
                    add_point(plots, {shown.report.group, name}, to_string(shown.trial),
                              {static_cast<double>(shown.report.steps_completed), *number});
            }
        }
        std::string text;
        for (auto const& plot : plots) {
            auto drawn = render_plot(plot.metric.first + ' ' + plot.metric.second, plot.curves, style);
            if (!text.empty() && !drawn.empty()) text += '\n';
            text += drawn;
        }
        return text;
    }

    std::vector<std::string> ids_;
    std::optional<std::string> group_;
    std::optional<std::string> metric_;
    bool all_runs_ = false;
    bool csv_ = false;
    bool plot_ = false;
};

}  // namespace

std::unique_ptr<Command> make_trial_metrics() { return std::make_unique<TrialMetrics>(); }

}  // namespace det::cli
