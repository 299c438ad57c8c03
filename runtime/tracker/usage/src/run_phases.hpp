#pragma once
#include <det/tracker/history/history.hpp>
#include <det/tracker/usage/usage.hpp>

#include <span>
#include <vector>

namespace det::tracker::usage {

/// The phases of a trial's runs. Which training is kept follows from the checkpoints from which later runs
/// started; without checkpoints of det, from the steps that later runs reported again. A trial whose program
/// reports nothing is taken to train from the start to the end of each run; the runs that failed are lost.
/// Leaves the number of slots open. Pure.
/// \param reports of the trial: one entry per run
std::vector<RunPhases> run_phases(history::TrialRecord const& trial,
                                  std::span<history::RunReports const> reports);

/// Whether the run ended by a fault: not by itself, and not because Slurm or the user interrupted it.
bool is_fault(std::optional<RunEnded> const& ended);

/// When training began: at the recorded first step, else at the first report.
std::optional<UtcTime> training_began(history::RunReports const& run);

/// Whether the run went on from a state in memory, which has more steps than its checkpoint.
/// \param run that has started
bool is_continued_from_memory(lifecycle::RunView const& run, history::RunReports const& reports);

}  // namespace det::tracker::usage
