#pragma once
#include <det/checkpoint/store.hpp>
#include <det/journal/writer.hpp>
#include <det/launch/supervisor/batch_job.hpp>
#include <det/lifecycle/run_end.hpp>

#include <functional>

#include "run_plan.hpp"

namespace det::launch::supervisor {

/// The directory of one run of a trial, and in it the journal of the run's start and end. mkdir(2) is atomic:
/// of several executions of a requeued job only one can create the directory.
class RunRecord {
public:
    /// Creates the directory of the trial's next run. From then on the chief of an earlier run, which may
    /// still run on a node that was cut off, commits nothing more. codes::superseded if another process
    /// creates the same run at the same time.
    static Result<RunId> create_next(BatchJob const& batch_job, TrialId trial);
    /// Records that a run that create_next() returned starts, and its shape.
    static Result<RunRecord> begin(BatchJob const& batch_job, RunPlan const& plan, UtcTime now);

    RunId id() const { return id_; }
    RunLayout const& layout() const { return layout_; }

    Status end(UtcTime now, lifecycle::RunOutcome const& outcome, int exit_code);
    /// Records the times that Slurm shows for the job, if it shows a start.
    Status record_allocation(UtcTime now, slurm::JobStatus const& job);
    /// Records that Slurm has requeued the job.
    Status record_requeued(UtcTime now);
    /// Records a message to the user.
    Status record_alert(AlertRaised const& alert);
    /// Records a decision of the search about the trial.
    Status record_decision(SearchDecision const& decision);
    /// Creates the file by which wrappers see that this run must stop, if they have not received the request.
    Status ask_to_stop(lifecycle::StopReason why);
    /// Creates the same file for the request for the stacks of the ranks.
    Status write_stacks_request();

    /// Records that tasks of the run may still live on a node that did not answer.
    Status mark_abandoned();
    /// Records that tasks of the run may live on nodes without a heartbeat file.
    /// \param connected the number of nodes that have ever connected
    Status note_living_tasks(int connected);
    void forget_living_tasks();
    /// Tells the wrappers of ranks that have lost another one that the wrapper of a node was killed, which
    /// then records no failure. Without this they only wait longer.
    void mark_killed_node();
    /// Removes the files by which this supervisor and the tasks of the run find and ask each other. Does
    /// nothing if a task may live: a node was given up, or a heartbeat file or that of note_living_tasks() is
    /// left. Must be called after the facts about the end are gathered. What can't be removed stays: no later
    /// run reads these files.
    ///
    /// \return whether no task lives
    bool remove_files_of_tasks() const;

    /// Whether the program has reported that it has seen the request to stop; false also if the journal can't
    /// be read.
    bool was_preemption_acknowledged() const;
    /// Whether the program has reported that the trial's hyperparameters are invalid; false also if the
    /// journal can't be read.
    bool has_invalid_hyperparameters() const;
    /// The exit code of the first failure, if the wrapper of a rank or det-launch recorded one.
    std::optional<int> first_failure() const;
    /// Whether a newer run of the trial exists; nullopt if the storage does not tell.
    std::optional<bool> has_newer_run() const;
    struct ReachedNodes {
        std::function<bool(int node)> has_connected;  // a task of the node
        std::function<bool(int node)> is_refused;     // srun's errors name the node
        /// Whether each node that has begun has connected or made a file by now. Before, a node without a
        /// trace may have begun.
        bool do_all_show;
    };
    /// Indices of nodes on which no task started and no rank failed: srun could not reach them. Those without
    /// a trace, if there are traces of others and each node shows that it has begun; otherwise those without
    /// a trace that srun names, unless it names all.
    std::vector<int> nodes_not_reached(int nodes, ReachedNodes const& known) const;
    /// The number of checkpoints that the chief has recorded; 0 if the journal can't be read.
    std::size_t count_checkpoints() const;
    /// Whether the run committed a checkpoint of a higher step than the step it started from.
    bool has_progressed(std::uint64_t steps_before, checkpoint::Store const& store) const;

private:
    RunRecord(RunId id, TrialLayout trial, RunLayout layout, journal::JournalWriter life)
        : id_(id), trial_(std::move(trial)), layout_(std::move(layout)), life_(std::move(life)) {}

    RunId id_;
    TrialLayout trial_;
    RunLayout layout_;
    journal::JournalWriter life_;
};

}  // namespace det::launch::supervisor
