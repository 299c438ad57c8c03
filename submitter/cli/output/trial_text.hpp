#pragma once
#include <det/protocol/rank_end.hpp>
#include <det/tracker/history/interruption.hpp>
#include <det/tracker/history/view.hpp>

#include <map>
#include <string>

namespace det::cli {

/// "Trial 7.3: RUNNING, job 4711_3: RUNNING", a line.
std::string trial_headline(tracker::history::TrialView const& trial);

/// A table with a row for each run: where it ran and how it ended. Empty without runs.
std::string runs_table(tracker::history::TrialView const& trial);

/// A table with a row for each interruption, in seconds since the notice. Empty without interruptions.
std::string interruptions_table(std::vector<tracker::history::Interruption> const& interruptions);

/// The number of runs by the cause of their end: {"failed": 2, "preempted": 1}.
std::map<std::string, int> ends_by_cause(tracker::history::TrialView const& trial);
/// "Ends: 2 failed, 1 preempted", a line; empty where none has ended.
std::string ends_text(tracker::history::TrialView const& trial);

/// Text about the rank of a run that failed first: what it printed last, and where its log is.
std::string failure_text(RunId run, RankEnd const& failure);

}  // namespace det::cli
