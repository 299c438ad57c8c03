#pragma once
#include <det/protocol/json.hpp>
#include <det/tracker/history/history.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "output/table.hpp"

namespace det::cli {

/// A report of metrics that a command shows.
struct ShownReport {
    TrialId trial;
    std::uint32_t run = 0;
    bool is_superseded = false;  // a later run has repeated it
    MetricsReported report;
};

/// The values of a whole batch under this name are not shown in tables: they are many.
inline constexpr std::string_view batch_metrics_name = "batch_metrics";

/// The reports of a trial without those that a later run has repeated.
Result<std::vector<ShownReport>> load_shown_reports(tracker::history::History& history, TrialId id);

Json reports_json(std::span<ShownReport const> reports);

/// Columns that a table has only if they are wanted.
struct ReportColumns {
    bool has_trial = false, has_superseded = false;
};
/// A row for each report. Has a column of ranks if other ranks than the chief have reported.
Table reports_table(std::span<ShownReport const> reports, ReportColumns columns, AnswerStyle const& style);
/// A row for each value, with the names of columns that `trial metrics --csv` has.
Table values_table(std::span<ShownReport const> reports, ReportColumns columns);

/// How many numbers of each metric were reported, and the least, the greatest, their mean and the last one,
/// by group and name: {"validation": {"loss": {"count": 3, "min": ...}}}. Values that are no numbers are left
/// out.
Json summary_json(std::span<ShownReport const> reports);
/// The same, with a row for each metric.
Table summary_table(std::span<ShownReport const> reports, NumberText const& text = {});

}  // namespace det::cli
