#pragma once
#include <det/tracker/history/history.hpp>

#include <optional>
#include <span>
#include <vector>

namespace det::tracker::history {

/// How far a trial has trained: what its program reported last, else its steps as a part of the length that
/// the searcher configures. Pure.
/// \param runs the reports of its runs, in order; their metrics are not read
/// \return 0 to 1; nullopt if neither is known
std::optional<double> progress_of_trial(std::span<RunReports const* const> runs, ExperimentSpec const& spec);
std::optional<double> progress_of_trial(std::vector<RunReports> const& runs, ExperimentSpec const& spec);

}  // namespace det::tracker::history
