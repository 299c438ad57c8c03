#pragma once
#include <det/protocol/rank_end.hpp>
#include <det/tracker/history/interruption.hpp>
#include <det/tracker/history/view.hpp>

#include <map>
#include <string>

namespace det::cli {

/// "Trial 7.3: RUNNING, job 4711_3: RUNNING", a line.
std::string trial_headline(tracker::history::TrialView const& trial);

/// A row for each run: where it ran and how it ended; empty where there was none.
std::string runs_table(tracker::history::TrialView const& trial);

/// A row for each time that it had to make room, in seconds since it was told; empty where it never had to.
std::string interruptions_table(std::vector<tracker::history::Interruption> const& interruptions);

/// How often its runs ended by which cause: {"failed": 2, "preempted": 1}.
std::map<std::string, int> ends_by_cause(tracker::history::TrialView const& trial);
/// "Ends: 2 failed, 1 preempted", a line; empty where none has ended.
std::string ends_text(tracker::history::TrialView const& trial);

/// Which rank of a run failed first, what it printed last, and where there is more of it.
std::string failure_text(RunId run, RankEnd const& failure);

}  // namespace det::cli
