#pragma once
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <map>
#include <span>
#include <string>

#include "output/table.hpp"

namespace det::cli {

/// Returns the line "Trial 7.3: RUNNING, job 4711_3: RUNNING".
std::string trial_headline(tracker::history::TrialView const& trial);

/// Renders a table with a row for each run: its nodes and how it ended. Empty if the trial has no runs.
std::string runs_table(tracker::history::TrialView const& trial);

/// A row for each run of these trials, as describe --csv prints them.
Table all_runs_table(std::span<tracker::history::TrialView const> trials);

/// Renders a table with a row for each interruption. Times are in seconds since the notice; without a notice,
/// since the end of the run. Empty if there are no interruptions.
std::string interruptions_table(std::vector<tracker::history::Interruption> const& interruptions);

/// Counts the runs by the cause of their end: {"failed": 2, "preempted": 1}.
std::map<std::string, int> ends_by_cause(tracker::history::TrialView const& trial);
/// Returns the line "Ends: 2 failed, 1 preempted"; an empty text if no run has ended.
std::string ends_text(tracker::history::TrialView const& trial);

/// Describes the first rank that failed in a run: how it ended, its last output, and the command that prints
/// its whole log.
std::string failure_text(RunId run, RankFailure const& failure);

/// Returns the hyperparameters that the searcher draws for a trial; an empty object if the draw fails.
Json hyperparameters_of(ExperimentSpec const& spec, std::uint32_t trial);

/// Returns "lr=0.1 layers.count=3". A nested hyperparameter has its path as its name.
std::string describe_hyperparameters(Json const& hyperparameters);

}  // namespace det::cli
