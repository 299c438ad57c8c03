#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::cli {

/// The searcher's metric: the last validation of a trial, or the best one of several trials.
struct MetricFact {
    std::string name;
    double value = 0;
    std::uint64_t steps_completed = 0;
    std::optional<TrialId> trial;  // set if the experiment has several trials
};

/// How far a trial has trained. What is not known is absent.
struct TrainingProgress {
    std::optional<double> progress;  // 0 to 1
    std::optional<std::uint64_t> step, steps_total;
    std::optional<double> steps_per_s, time_left_s;
    std::optional<MetricFact> metric;  // the last validation, else the last training value
};

/// Number of steps per second at the end of a run, by the times of its reports of the last minute. nullopt if
/// it has reported fewer than two different steps. Pure.
std::optional<double> training_speed(tracker::history::RunReports const& run);

/// The time until the end, if the rest takes as long as what has come so far in the time since `started`.
/// nullopt if that is too little to tell. Pure.
std::optional<double> extrapolate_time_left(double progress, std::optional<UtcTime> started, UtcTime now);

/// How far a trial has trained, by the reports of its runs. Pure.
TrainingProgress progress_from_reports(std::vector<tracker::history::RunReports> const& runs,
                                       tracker::history::TrialView const& trial, ExperimentSpec const& spec,
                                       UtcTime now);

/// Reads the progress of a search, 0 to 1: its own if it stops trials; of any other experiment, the mean over
/// its trials.
Result<double> load_search_progress(tracker::history::ExperimentView const& view, ExperimentSpec const& spec,
                                    tracker::history::History& history);

}  // namespace det::cli
