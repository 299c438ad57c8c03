#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/telemetry/event_file.hpp>

#include <deque>
#include <fmt/format.h>
#include <optional>

#include "visit_reports.hpp"

namespace det::tracker {
namespace {

std::optional<double> to_number(Json const& json) {
    if (json.is_boolean()) return json.get<bool>() ? 1.0 : 0.0;
    return number_from_json(json);
}

/// The name of a metric in an event file, which has no ranks. Each rank has curves of its own.
std::string name_of(std::string const& metric, Rank rank) {
    return rank == Rank{} ? metric : fmt::format("{} [rank={}]", metric, rank.value);
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

Status export_event_files(history::History& history, std::span<TrialId const> trials,
                          ExportOptions const& options, std::filesystem::path const& directory) {
    for (auto const& trial : trials) {
        auto const own = directory / to_string(trial);
        DET_TRY(make_directories(own));
        RunFile file(own);
        DET_TRY(
            visit_reports(history, trial, options,
                          [&](history::RunReports const& run, MetricsReported const& report, bool) -> Status {
                              std::deque<std::string> names;
                              std::vector<Metric> metrics;
                              for (auto const& entry : report.metrics->items()) {
                                  auto const number = to_number(entry.value());
                                  if (!number) continue;
                                  names.push_back(name_of(entry.key(), report.rank));
                                  metrics.push_back({names.back(), *number});
                              }
                              DET_TRY_ASSIGN(auto* const events, file.require(run, report.time));
                              events->add(report.time, report.group, report.steps_completed, metrics);
                              return Ok{};
                          }));
        DET_TRY(file.close());
    }
    return Ok{};
}

}  // namespace det::tracker
