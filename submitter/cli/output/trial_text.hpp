#pragma once
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "output/table.hpp"

namespace det::cli {

/// Returns the line "Trial 7.3: RUNNING, job 4711_3: RUNNING".
std::string trial_headline(tracker::history::TrialView const& trial);

/// Renders a table with a row for each run: its nodes and how it ended. Empty if the trial has no runs.
std::string runs_table(tracker::history::TrialView const& trial, AnswerStyle const& style);

/// A row for each run of these trials, as describe --csv prints them.
Table all_runs_table(std::span<tracker::history::TrialView const> trials);

/// Renders a table with a row for each interruption. Times are in seconds since the notice; without a notice,
/// since the end of the run. Empty if there are no interruptions.
std::string interruptions_table(std::vector<tracker::history::Interruption> const& interruptions,
                                AnswerStyle const& style);

/// Counts the runs by the cause of their end: {"failed": 2, "preempted": 1}.
std::map<std::string, int> ends_by_cause(tracker::history::TrialView const& trial);
/// Returns the line "Ends: 2 failed, 1 preempted"; an empty text if no run has ended.
std::string ends_text(tracker::history::TrialView const& trial);

/// The last lines of a program's output: the last traceback of Python if there is one, else the end. Of a
/// longer traceback its first line and its end. Pure.
std::vector<std::string> end_of_output(std::string const& output, std::size_t lines_max);

/// Describes the first rank that failed in a run: how it ended, the end of its output (end_of_output), and
/// the command that prints its whole log.
std::string failure_text(RunId run, RankFailure const& failure, std::size_t lines_max = 20);

/// Returns the hyperparameters that the searcher draws for a trial; an empty object if the draw fails.
Json hyperparameters_of(ExperimentLayout const& experiment, ExperimentSpec const& spec, std::uint32_t trial);

/// Returns "lr=0.1 layers.count=3". A nested hyperparameter has its path as its name.
/// Numbers are exact unless number_text is for people.
std::string describe_hyperparameters(Json const& hyperparameters, NumberText const& number_text = {});

}  // namespace det::cli
