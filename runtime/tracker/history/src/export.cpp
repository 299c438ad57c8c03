#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/telemetry/event_file.hpp>
#include <det/tracker/history/export.hpp>

#include <fmt/format.h>
#include <optional>

namespace det::tracker {
namespace {

/// Calls `visit(run, report, is_superseded)` for each report of a trial that the options ask for.
template <class Visit>
Status visit_reports(history::History& history, TrialId trial, ExportOptions const& options, Visit&& visit) {
    DET_TRY_ASSIGN(auto const runs, history.load_reports(trial));
    for (auto const& run : runs) {
        for (auto const& report : run.metrics) {
            bool const is_superseded = run.is_superseded(report);
            if (options.all_runs || !is_superseded) DET_TRY(visit(run, report, is_superseded));
        }
    }
    return Ok{};
}

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

/// The open event file: that of the run whose reports are being written.
class RunFile {
public:
    explicit RunFile(std::filesystem::path directory) : directory_(std::move(directory)) {}

    Result<telemetry::EventFile*> require(history::RunReports const& run, UtcTime time) {
        if (file_ && run_ == run.run) return &*file_;
        DET_TRY(close());
        auto const path = directory_ / fmt::format("events.out.tfevents.{:06}.det", run.run);
        DET_TRY(remove_tree(path));
        DET_TRY_ASSIGN(auto file, telemetry::EventFile::create(path, time, run.beginning.resumed_from));
        file_.emplace(std::move(file));
        run_ = run.run;
        return &*file_;
    }
    Status close() {
        if (file_) DET_TRY(file_->flush());
        file_.reset();
        return Ok{};
    }

private:
    std::filesystem::path directory_;
    std::optional<telemetry::EventFile> file_;
    std::uint32_t run_ = 0;
};

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

Status export_event_files(history::History& history, std::span<TrialId const> trials,
                          ExportOptions const& options, std::filesystem::path const& directory) {
    for (auto const& trial : trials) {
        auto const own = directory / to_string(trial);
        DET_TRY(make_directories(own));
        RunFile file(own);
        DET_TRY(
            visit_reports(history, trial, options,
                          [&](history::RunReports const& run, MetricsReported const& report, bool) -> Status {
                              DET_TRY_ASSIGN(auto* const events, file.require(run, report.time));
                              events->add(report);
                              return Ok{};
                          }));
        DET_TRY(file.close());
    }
    return Ok{};
}

}  // namespace det::tracker
