#pragma once
#include <det/protocol/desired_state.hpp>
#include <det/protocol/record.hpp>
#include <det/slurm/job.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace det::lifecycle {

/// One execution of a Slurm job. slurmctld may have requeued the job and started it on other nodes while this
/// execution was cut off from the network.
struct Incarnation {
    std::uint32_t restart_count = 0;
    std::string batch_host;
};

/// Why a supervisor asked its ranks to save their work and stop.
enum class StopReason {
    none,
    user,         // the user pauses or cancels the trial
    time_limit,   // the job's time limit is near
    other_trial,  // the job will be requeued because of another trial in it
    search,       // the searcher ends the trial
    idle,         // the run is idle: slurm.idle_timeout with action: end
    grow,         // more nodes are idle: slurm.grow
};

std::string_view to_string(StopReason stop_reason);

/// Nodes that made a run fail, and whether the trial can continue without them.
struct BadNodes {
    std::vector<std::string> hosts = {};
    std::string why = {};              // "the log policy 'ECC Error' excludes", "Slurm has lost"
    bool is_enough_here = false;       // the allocation has enough other nodes
    bool is_enough_elsewhere = false;  // the partition has enough other nodes
    bool is_failure_of_trial = true;   // counts against max_restarts
    bool may_come_back = false;  // if too few other nodes exist, the job waits in the queue for these nodes
    bool is_bad_for_trial_only = false;  // other trials and experiments may use them
};

/// What the search knows about a trial.
struct SearchFacts {
    std::string end = {};                    // why the search has ended the trial; empty: it has not
    bool is_complete = false;                // the trial has trained to the last rung
    std::string invalid_report_reason = {};  // why the trial's reports can't be used; empty: they can
    bool is_invalid = false;                 // the program has reported that its hyperparameters are invalid
};

/// The facts that a supervisor has when its step has ended.
struct RunFacts {
    Incarnation incarnation;
    int step_exit_code = 0;                // 128 + signal if a signal ended the step
    bool has_preempted_exit_code = false;  // the exit code is one of slurm.preempted_exit_codes
    bool ended_by_notice_signal = false;   // by TERM, or by a signal of slurm.forward_signals
    // The program gets notices as signals: by slurm.forward_signals, or because Slurm signals every process
    bool gets_notices = false;
    // The program has opened the Core API, so that its progress is visible
    bool uses_core_api = false;
    bool says_done = false;                // the program has created DET_DONE_FILE
    bool task_notice_received = false;     // a wrapper of the run received Slurm's notice
    bool preemption_acknowledged = false;  // by the chief, in its journal
    bool notice_received = false;          // the supervisor received SIGTERM
    StopReason stop_reason = StopReason::none;
    bool was_killed = false;          // the supervisor killed the step
    std::string silent_host = {};     // a node whose heartbeat was overdue, so that the step was killed
    bool is_slurmstepd_gone = false;  // the silent host has ended, and srun has not learnt of that
    // How long the run had reported no step and ended no collective operation when it was killed for that;
    // nullopt: it was not killed for that
    std::optional<std::chrono::seconds> hung_for = {};
    std::string idle_use = {};    // how little the run used its nodes, if that was the reason to stop it
    std::string hung_waits = {};  // which ranks waited for which one when it hung; empty: not known
    bool shares_node = false;     // the run shares its node with other trials of the job
    std::string cancel_retries_policy = {};  // name of the log policy that forbids a restart; empty: none
    bool asks_for_requeue = false;           // the program has called the container's `scontrol requeue`
    // How the program asked to be queued again; empty: by the container's `scontrol requeue`
    std::string requeue_request = {};
    std::string successor = {};  // the job by which a batch script goes on outside of det-submit; else empty
    std::vector<std::string> log_labels = {};  // names of the log policies that matched and have no action
    BadNodes bad_nodes = {};
    // Nodes that were lost during the run, according to srun. Slurm requeues the job then, which squeue
    // shows like a preemption without a grace period
    std::vector<std::string> lost_hosts = {};
    std::string srun_refusal = {};    // srun's error if it started no task; otherwise empty
    std::string health_failure = {};  // why the health check excludes nodes, so that no task was started
    std::string setup_failure = {};   // the node, and the line of slurm.setup that failed there
    // The job ends, or the user stops the trial, before the run's step has started
    bool was_stopped_before_step = false;
    // What is damaged in the checkpoint from which the run continues, if its ranks are the first to find
    // that; otherwise empty
    std::string damaged_checkpoint = {};
    bool repeats_failure = false;  // the program failed as in the run before: soon, with the same last output
    bool has_default_max_restarts = false;  // the configuration does not set it
    bool has_begun_before = false;          // an earlier run of the trial has started
    // Whether checkpoints or the files of slurm.progress_glob show the progress of a run
    bool is_progress_visible = false;
    // Consecutive failures before this run that made no progress
    std::uint32_t failures_without_progress = 0;
    // Consecutive runs before this one that made no progress and failed, or ended after a notice like a
    // failure: with another code than 0, and not by TERM
    std::uint32_t bad_ends_without_progress = 0;
    // Consecutive runs before this one that ended because of Slurm or its nodes
    std::uint32_t slurm_failures_in_a_row = 0;
    // Whether this run committed a checkpoint of a higher step or changed a file of slurm.progress_glob
    bool has_progressed = false;
    SearchFacts search = {};
    DesiredState desired = DesiredState::run;
    bool slurm_answered = true;           // false: the state of the job is unknown
    std::optional<slurm::JobStatus> job;  // nullopt: Slurm did not answer, or does not know the job
    bool higher_run_exists = false;       // a newer run exists: another incarnation continues this trial
    std::uint32_t restarts = 0;           // failures before this run
    std::uint32_t restarts_max = 0;
};

/// Why the run ended and what follows.
struct RunOutcome {
    Cause cause;
    NextAction next_action;
    std::string message;                      // one readable line
    std::vector<std::string> bad_hosts = {};  // the next run must not use them
    bool is_bad_for_trial_only = false;       // other trials and experiments may use them
};

/// Determines the outcome of a run from the facts. An acknowledged preemption is not a failure, unless the
/// search can't use the trial's reports. A cancelled job is never requeued; a superseded incarnation changes
/// nothing. A trial that the search has ended is never requeued, whatever Slurm does at the same time. A run
/// that ends after a notice was preempted, whatever its exit code, unless the program says that it is done,
/// or ends with 0 and does not see notices. The third such end in a row that looks like a failure and without
/// visible progress is a failure. A run that fails because its checkpoint is damaged is no failure: the next
/// run continues from an older one. If the progress of runs is visible, a trial that fails three times in a
/// row without progress is stopped even if restarts are left, and so is a trial that repeats a failure,
/// unless the configuration sets max_restarts. Pure.
RunOutcome classify_run_end(RunFacts const& facts);

/// Whether this run was ended so that its trial gets more nodes (StopReason::grow). Pure.
bool was_requeued_to_grow(RunEnded const& ended);

/// Whether the job that Slurm shows is still this incarnation.
bool is_same_incarnation(Incarnation const& incarnation, slurm::JobStatus const& job);

/// Whether Slurm is ending this execution of the job (COMPLETING), possibly to run the job again. The cause
/// does not change any more: slurmctld sets state, reason and times together, before it sends TERM.
bool is_ending(Incarnation const& incarnation, slurm::JobStatus const& job);

}  // namespace det::lifecycle
