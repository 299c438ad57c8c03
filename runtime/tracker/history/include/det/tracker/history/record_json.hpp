#pragma once
#include <det/tracker/history/history.hpp>

#include <vector>

namespace det::tracker::history {

// The records of History as JSON, without loss: as the index stores them. Pure.
// The parsers fail with codes::damaged.

/// {"trial": "7.3", "desired": "run", "claimed_by": "123_4", "runs": [[record...]...]}; the records of a run
/// are those of its `life`, in the form of `det-submit dump`.
Json to_json(TrialRecord const& trial);
Result<TrialRecord> parse_trial_record(Json const& json);

/// {"experiment": 7, "spec": {...}, "events": [...], "desired": "run", "replacements": [[10, 3]...],
/// "trials": [...]}; "spec" is absent while the experiment is being created.
Json to_json(ExperimentRecord const& experiment);
/// The JSON of an experiment without "trials".
Json to_json_without_trials(ExperimentRecord const& experiment);
/// Parses either form; without "trials" the record has no trials.
Result<ExperimentRecord> parse_experiment_record(Json const& json);

/// {"run": 2, "resumed_from": 100, "first_steps": {"training": 101}, "records": [...]}
Json to_json(RunReports const& run);
/// The JSON of a run's reports without the metrics.
Json to_json_without_metrics(RunReports const& run);
/// Leaves `cut_off` empty: set_cut_offs() sets it.
Result<RunReports> parse_run_reports(Json const& json);

}  // namespace det::tracker::history
