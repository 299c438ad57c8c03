#pragma once
#include <det/tracker/history/history.hpp>

#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace det::tracker {

struct ExportOptions {
    bool all_runs = false;  // exports superseded reports too
};

/// Takes the next part of the text that is exported. An error ends the export.
using TextSink = std::function<Status(std::string_view text)>;

/// Writes CSV: a header, and a row for each value with trial, run, group, steps_completed, time, metric,
/// value; with all_runs also superseded. Texts are quoted as RFC 4180 says. Leaves out `batch_metrics`.
Status export_csv(history::History& history, std::span<TrialId const> trials, ExportOptions const& options,
                  TextSink const& sink);

/// Writes one line of JSON for each report: {"trial": "7.0", "run": 0, "group": "training",
/// "steps_completed": 1, "time": ..., "superseded": false, "metrics": {...}}.
Status export_json_lines(history::History& history, std::span<TrialId const> trials,
                         ExportOptions const& options, TextSink const& sink);

/// Writes one event file of TensorBoard for each run with reports:
/// DIRECTORY/<trial>/events.out.tfevents.<run>.det. Creates the directory; replaces the file of a run that
/// was exported before. Booleans become 0 and 1; other values that are not numbers are left out.
Status export_event_files(history::History& history, std::span<TrialId const> trials,
                          ExportOptions const& options, std::filesystem::path const& directory);

}  // namespace det::tracker
