#pragma once
#include <det/protocol/desired_state.hpp>
#include <det/protocol/record.hpp>
#include <det/slurm/job.hpp>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace det::lifecycle {

/// States with Determined's names. They are computed from journals and Slurm each time, and not recorded.
enum class State {
    submitting,  // being created, or `experiment create` was interrupted
    queued,
    starting,  // the job has its nodes, and the run has not started on them
    running,
    stopping_canceled,  // cancelled by the user, but not ended yet
    stopping_killed,
    paused,
    completed,
    canceled,
    error,
    interrupted,  // its job is over, and its supervisor recorded no final end of the trial
};

std::string_view to_string(State state);
/// The state of this name, in letters of any case.
std::optional<State> parse_state(std::string_view name);
/// Whether the trial or experiment has ended: completed, canceled or error.
bool is_terminal(State state);

/// A run as its supervisor recorded it.
struct RunView {
    std::optional<RunStarted> started;
    std::optional<RunEnded> ended;
    std::optional<UtcTime> queued_again = {};     // when its job was requeued
    std::vector<SearchDecision> decisions = {};   // of the search about the trial, in this run
    std::optional<JobAllocated> allocation = {};  // the newest one
    std::vector<AlertRaised> alerts = {};         // of the supervisor

    /// Evaluates one record of the run's `life`. The records must be added in order.
    void add(Record const& record);
    /// Records from which add() makes the same view.
    std::vector<Record> records() const;
};

/// The facts about a trial.
struct TrialFacts {
    std::span<RunView const> runs;  // in order
    DesiredState desired = DesiredState::run;
    bool slurm_answered = true;
    std::optional<slurm::JobStatus> job;  // empty if Slurm does not know it (any more)
    // Index of the first run that counts: runs before the experiment was continued are ignored
    std::size_t first_run = 0;
    bool is_unclaimed = false;    // no task has claimed the trial yet: `job` is a task that may claim it
    bool is_replacement = false;  // it replaces an invalid trial, in a job that was already running
};

State state_of_trial(TrialFacts const& facts);

/// The state of an experiment. If all trials have ended, it is CANCELED if the user has cancelled or killed
/// it and a trial has not completed; else COMPLETED if at least one trial is, else ERROR if at least one is,
/// else CANCELED. Otherwise it is the first of STOPPING_KILLED, STOPPING_CANCELED, RUNNING, STARTING,
/// INTERRUPTED, QUEUED and PAUSED that a trial has.
///
/// \param created whether the `created` event exists
/// \param desired the desired state of the experiment, not of its trials
State state_of_experiment(bool created, DesiredState desired, std::span<State const> trials);

}  // namespace det::lifecycle
