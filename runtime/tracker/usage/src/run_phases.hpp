#pragma once
#include <det/tracker/history/history.hpp>
#include <det/tracker/usage/usage.hpp>

#include <span>
#include <vector>

namespace det::tracker::usage {

/// The phases of a trial's runs. Which training is kept follows from the checkpoints from which later runs
/// started; without checkpoints of det, from the steps that later runs reported again. A trial whose program
/// reports nothing is taken to train from the start to the end of each run; the runs that failed are lost.
/// Pure.
/// \param reports of the trial: one entry per run
/// \param slots of each run
std::vector<RunPhases> run_phases(history::TrialRecord const& trial,
                                  std::span<history::RunReports const> reports, std::uint32_t slots);

}  // namespace det::tracker::usage
