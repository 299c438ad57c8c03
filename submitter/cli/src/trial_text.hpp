#pragma once
#include <det/history/view.hpp>
#include <det/protocol/rank_end.hpp>

#include <string>

namespace det::cli {

/// "Trial 7.3: RUNNING, job 4711_3: RUNNING", a line.
std::string trial_headline(history::TrialView const& trial);

/// A row for each run: where it ran and how it ended; empty where there was none.
std::string runs_table(history::TrialView const& trial);

/// Which rank of a run failed first, what it printed last, and where there is more of it.
std::string failure_text(RunId run, RankEnd const& failure);

}  // namespace det::cli
