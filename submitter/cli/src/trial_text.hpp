#pragma once
#include <det/history/view.hpp>

#include <string>

namespace det::cli {

/// "Trial 7.3: RUNNING, job 4711_3: RUNNING", a line.
std::string trial_headline(history::TrialView const& trial);

/// A row for each run: where it ran and how it ended; empty where there was none.
std::string runs_table(history::TrialView const& trial);

}  // namespace det::cli
