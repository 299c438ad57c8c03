#include <det/foundation/text.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "visit_reports.hpp"

namespace det::tracker {
namespace {

constexpr std::size_t part_size_bytes = 1 << 20;
constexpr std::string_view batch_metrics = "batch_metrics";  // many values, which Determined does not show

/// Collects text and passes it on in large parts.
class PartWriter {
public:
    explicit PartWriter(TextSink const& sink) : sink_(sink) {}

    std::string& text() { return text_; }
    Status pass_on_if_large() { return text_.size() < part_size_bytes ? Status(Ok{}) : pass_on(); }
    Status pass_on() {
        DET_TRY(sink_(text_));
        text_.clear();
        return Ok{};
    }

private:
    TextSink const& sink_;
    std::string text_;
};

void append_row(std::string& text, TrialId trial, std::uint32_t run, MetricsReported const& report,
                std::string_view metric, Json const& value, std::string_view superseded) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{}{},{}\n", to_string(trial), run,
                   csv_field(report.group), report.steps_completed, format_utc(report.time),
                   csv_field(metric),
                   csv_field(value.is_string() ? value.get<std::string>() : to_line(value)), superseded,
                   report.rank.value);
}

}  // namespace

Status export_csv(history::History& history, std::span<TrialId const> trials, ExportOptions const& options,
                  TextSink const& sink) {
    PartWriter out(sink);
    out.text() = "trial,run,group,steps_completed,time,metric,value";
    out.text() += options.all_runs ? ",superseded,rank\n" : ",rank\n";
    for (auto const& trial : trials) {
        DET_TRY(visit_reports(
            history, trial, options,
            [&](history::RunReports const& run, MetricsReported const& report, bool is_superseded) {
                std::string_view const superseded = !options.all_runs ? ""
                                                    : is_superseded   ? ",true"
                                                                      : ",false";
                for (auto const& [name, value] : report.metrics->items()) {
                    if (name != batch_metrics)
                        append_row(out.text(), trial, run.run, report, name, value, superseded);
                }
                return out.pass_on_if_large();
            }));
    }
    return out.pass_on();
}

Status export_json_lines(history::History& history, std::span<TrialId const> trials,
                         ExportOptions const& options, TextSink const& sink) {
    PartWriter out(sink);
    for (auto const& trial : trials) {
        DET_TRY(visit_reports(
            history, trial, options,
            [&](history::RunReports const& run, MetricsReported const& report, bool is_superseded) {
                out.text() += to_line(Json{{"trial", to_string(trial)},
                                           {"run", run.run},
                                           {"group", report.group},
                                           {"steps_completed", report.steps_completed},
                                           {"time", format_utc(report.time)},
                                           {"superseded", is_superseded},
                                           {"rank", report.rank.value},
                                           {"metrics", report.metrics}}) +
                              '\n';
                return out.pass_on_if_large();
            }));
    }
    return out.pass_on();
}

}  // namespace det::tracker
