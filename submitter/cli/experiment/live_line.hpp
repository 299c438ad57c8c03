#pragma once
#include <det/lifecycle/state.hpp>
#include <det/protocol/ids.hpp>
#include <det/queue/start_estimate.hpp>
#include <det/slurm/job.hpp>
#include <det/tracker/history/history.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace det::cli {

/// Where an experiment waits in Slurm's queue, and why.
struct QueuePlace {
    std::string reason;  // in words; may be empty
    std::string partition;
    /// Among the jobs that wait in the same partition, from 1; 0: unknown, as for a held job
    std::size_t position = 0;
    std::size_t waiting = 0;  // jobs that wait in the partition
    queue::StartEstimate start;
};

/// Finds the first waiting job of an experiment in the queue of the whole cluster. nullopt if none waits.
/// Pure.
/// \param jobs in scheduling order
/// \param own the numbers of the experiment's jobs
std::optional<QueuePlace> find_queue_place(std::vector<slurm::JobStatus> const& jobs,
                                           std::span<std::uint32_t const> own, UtcTime now);

/// The searcher's metric: the last validation of the only trial, or the best one of several trials.
struct MetricFact {
    std::string name;
    double value = 0;
    std::uint64_t steps_completed = 0;
    std::optional<TrialId> trial;  // set if the experiment has several trials
};

/// What is known of an experiment while a command waits for its end.
struct LiveFacts {
    ExperimentId id;
    lifecycle::State state = lifecycle::State::queued;
    std::string hosts;                // of the only trial's job
    std::optional<QueuePlace> place;  // while it waits
    std::size_t trials = 0, ended_trials = 0, running_trials = 0;
    std::optional<double> progress;                  // 0 to 1
    std::optional<std::uint64_t> step, steps_total;  // of the only trial
    std::optional<double> steps_per_s, time_left_s;
    std::optional<MetricFact> metric;
};

/// Returns "[#####.....]  50 %", `columns` wide, but at least 12. Pure.
std::string render_progress_bar(double progress, std::size_t columns);

/// The line that a terminal shows until the next state: at most `columns` wide. Pure.
std::string live_line(LiveFacts const& facts, UtcTime now, std::size_t columns);

/// The line that is printed once, when the state or the reason to wait changes. Pure.
std::string change_line(LiveFacts const& facts);

/// The last line about an experiment that has ended: "experiment 7: COMPLETED in 0:03:12, loss 0.01 at step
/// 100". Pure.
std::string result_line(LiveFacts const& facts, std::optional<double> duration_s);

/// What Ctrl-C tells: what goes on, and how to follow and end it. Pure.
/// \param command of det-submit that follows it again: "experiment wait 7"
std::string interrupt_text(ExperimentId id, std::string const& command);

/// Number of steps per second at the end of a run, by the times of its reports of the last minute. nullopt if
/// it has reported fewer than two different steps. Pure.
std::optional<double> training_speed(tracker::history::RunReports const& run);

}  // namespace det::cli
