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

#include "experiment/training_progress.hpp"

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

/// What is known of an experiment while a command waits for its end.
struct LiveFacts {
    ExperimentId id;
    lifecycle::State state = lifecycle::State::queued;
    std::string hosts;                // of the only trial's job
    std::optional<QueuePlace> place;  // while it waits
    std::size_t trials = 0, ended_trials = 0, running_trials = 0;
    TrainingProgress training;  // of the only trial; of a search without steps
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

}  // namespace det::cli
