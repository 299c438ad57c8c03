#include "output/metric_reports.hpp"

#include <det/protocol/json_number.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "output/value_text.hpp"

namespace det::cli {
namespace {

bool has_other_ranks(std::span<ShownReport const> reports) {
    return std::ranges::any_of(reports, [](auto const& shown) { return shown.report.rank != Rank{}; });
}

struct MetricSummary {
    std::size_t count = 0;
    double least = 0, greatest = 0, sum = 0, last = 0;

    void add(double value) {
        least = count == 0 ? value : std::min(least, value);
        greatest = count == 0 ? value : std::max(greatest, value);
        sum += value;
        last = value;
        ++count;
    }
    double mean() const { return sum / static_cast<double>(count); }
};

/// By group and name.
using MetricSummaries = std::map<std::pair<std::string, std::string>, MetricSummary>;

MetricSummaries summarize(std::span<ShownReport const> reports) {
    MetricSummaries summaries;
    for (auto const& shown : reports) {
        for (auto const& [name, value] : shown.report.metrics->items()) {
            auto const number = number_from_json(value);
            if (number && std::isfinite(*number)) summaries[{shown.report.group, name}].add(*number);
        }
    }
    return summaries;
}

}  // namespace

Result<std::vector<ShownReport>> load_shown_reports(tracker::history::History& history, TrialId id) {
    DET_TRY_ASSIGN(auto runs, history.load_reports(id));
    std::vector<ShownReport> shown;
    for (auto& run : runs) {
        for (auto& report : run.metrics) {
            if (!run.is_superseded(report)) shown.push_back({id, run.run, false, std::move(report)});
        }
    }
    return shown;
}

Json reports_json(std::span<ShownReport const> reports) {
    auto answer = Json::array();
    for (auto const& shown : reports) {
        answer.push_back({{"trial", to_string(shown.trial)},
                          {"run", shown.run},
                          {"group", shown.report.group},
                          {"steps_completed", shown.report.steps_completed},
                          {"time", format_utc(shown.report.time)},
                          {"superseded", shown.is_superseded},
                          {"rank", shown.report.rank.value},
                          {"metrics", shown.report.metrics}});
    }
    return answer;
}

Table values_table(std::span<ShownReport const> reports, ReportColumns columns) {
    std::vector<std::string> header{"trial", "run", "group", "steps_completed", "time", "metric", "value"};
    if (columns.has_superseded) header.push_back("superseded");
    header.push_back("rank");
    Table table(std::move(header));
    for (auto const& shown : reports) {
        for (auto const& [name, value] : shown.report.metrics->items()) {
            if (name == batch_metrics_name) continue;
            std::vector<std::string> row{to_string(shown.trial),
                                         std::to_string(shown.run),
                                         shown.report.group,
                                         std::to_string(shown.report.steps_completed),
                                         format_utc(shown.report.time),
                                         name,
                                         value.is_string() ? value.get<std::string>() : to_line(value)};
            if (columns.has_superseded) row.push_back(shown.is_superseded ? "true" : "false");
            row.push_back(std::to_string(shown.report.rank.value));
            table.add(std::move(row));
        }
    }
    return table;
}

Table reports_table(std::span<ShownReport const> reports, ReportColumns columns, AnswerStyle const& style) {
    bool const has_ranks = has_other_ranks(reports);
    std::vector<std::string> header{"Run", "Group", "Steps", "Time", "Metrics"};
    if (columns.has_trial) header.insert(header.begin(), "Trial ID");
    if (has_ranks) header.insert(header.end() - 1, "Rank");
    if (columns.has_superseded) header.push_back("Superseded");
    Table table(std::move(header), {"Time", "Group"});
    for (auto const& shown : reports) {
        std::string text;
        for (auto const& [name, value] : shown.report.metrics->items()) {
            if (name == batch_metrics_name) continue;
            text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, style.number(value));
        }
        std::vector<std::string> row{std::to_string(shown.run), shown.report.group,
                                     std::to_string(shown.report.steps_completed),
                                     style.time(shown.report.time), text};
        if (columns.has_trial) row.insert(row.begin(), to_string(shown.trial));
        if (has_ranks) row.insert(row.end() - 1, std::to_string(shown.report.rank.value));
        if (columns.has_superseded) row.push_back(shown.is_superseded ? "yes" : "");
        table.add(std::move(row));
    }
    return table;
}

Json summary_json(std::span<ShownReport const> reports) {
    auto answer = Json::object();
    for (auto const& [metric, summary] : summarize(reports)) {
        answer[metric.first][metric.second] = {{"count", summary.count},
                                               {"min", summary.least},
                                               {"max", summary.greatest},
                                               {"mean", summary.mean()},
                                               {"last", summary.last}};
    }
    return answer;
}

Table summary_table(std::span<ShownReport const> reports, NumberText const& text) {
    Table table({"Group", "Metric", "Count", "Min", "Max", "Mean", "Last"});
    for (auto const& [metric, summary] : summarize(reports)) {
        table.add({metric.first, metric.second, std::to_string(summary.count), text(summary.least),
                   text(summary.greatest), text(summary.mean()), text(summary.last)});
    }
    return table;
}

}  // namespace det::cli
