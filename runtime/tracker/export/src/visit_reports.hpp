#pragma once
#include <det/tracker/export/export.hpp>

namespace det::tracker {

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

}  // namespace det::tracker
