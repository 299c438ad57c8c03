#pragma once
#include <det/events/event_hook.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/slurm/step_process.hpp>

#include <memory>
#include <optional>

#include "ask_sampler.hpp"
#include "claims.hpp"
#include "gone_nodes.hpp"
#include "grow_detector.hpp"
#include "hang_detector.hpp"
#include "health_check.hpp"
#include "heartbeats.hpp"
#include "idle_detector.hpp"
#include "node_watch.hpp"
#include "ports.hpp"
#include "run_file_watch.hpp"
#include "run_plan.hpp"
#include "run_record.hpp"
#include "run_state_machine.hpp"
#include "sampler_follower.hpp"
#include "search_follower.hpp"
#include "step_refusal.hpp"
#include "storage_probe.hpp"
#include "warm_start.hpp"

namespace det::launch::supervisor {

/// A share of the job that runs one trial after another; the whole job if its trials do not share nodes. A
/// lane is idle between trials.
class Lane {
public:
    Lane(BatchJob const& batch_job, SupervisorContext const& context, Claims& claims, PortReservations& ports,
         events::EventHook& hook)
        : batch_job_(batch_job),
          context_(context),
          claims_(claims),
          ports_(ports),
          hook_(hook),
          warm_start_(batch_job, context) {}

    /// Starts the next run of the trial. If its step can't be started the run has ended already: see
    /// outcome(). If its nodes have failed the health check, it has no step: see has_unhealthy_nodes().
    /// If the job ends or the user stops the trial before its step starts: see was_stopped_before_step().
    /// \param refusal why no step may start; the run then ends as not launched. Empty: it may
    /// \param meanwhile see choose_beginning()
    /// \param known what choose_beginning() has returned for the trial; nullopt: it is called
    Status begin(std::uint32_t trial, std::string const& refusal, Meanwhile const& meanwhile,
                 std::optional<TrialBeginning> known = {});

    bool is_idle() const { return !run_; }
    /// The outcome of the run is known; its step may still run.
    bool has_outcome() const { return run_ && run_->outcome; }
    bool is_running() const { return run_ && !run_->outcome; }
    /// No step was started, because nodes have failed the health check. The caller must end the run.
    bool has_unhealthy_nodes() const { return is_running() && !run_->health.unhealthy.empty(); }
    /// No step was started, because the job ends or the user stops the trial: while the sampler was asked,
    /// the nodes were checked, or files were brought to them. The caller must end the run.
    bool was_stopped_before_step() const { return is_running() && run_->was_stopped_before_step; }
    int pidfd() const { return run_ && run_->step ? run_->step->pidfd() : -1; }
    int notice_fd() const { return run_ ? run_->notice.fd() : -1; }
    /// Readable when look_at_nodes() has something to do; -1: never.
    int nodes_fd() const { return run_ && run_->nodes ? run_->nodes->fd() : -1; }
    /// Looks at the nodes that have been silent on the network.
    RunAction look_at_nodes(RunStateMachine::Time now);
    /// Returns true once, after Slurm's notice has reached the run's first task.
    bool take_task_notice(RunFileWatch::Check check) { return run_->notice.take(check); }
    /// Returns true once, after the program has asked to be queued again.
    bool take_requeue_request(RunFileWatch::Check check) { return run_->requeue_request.take(check); }
    RunStateMachine& machine() { return run_->machine; }
    /// The run was not started because its nodes failed the health check, and too few others are left.
    bool waits_for_healthy_nodes() const {
        return has_outcome() && !run_->health.unhealthy.empty() && run_->outcome->bad_hosts.empty();
    }
    RunId id() const { return run_->record.id(); }
    DesiredState desired() const;
    /// Whether files of the run can be opened. Waits 2 s at most.
    bool storage_answers();
    /// Counts the age of heartbeats from zero again, because they could not be written or read.
    void restart_heartbeats() { run_->heartbeats.restart(); }
    /// A node of the run whose heartbeat is overdue, or on which the slurmstepd of the step is gone.
    /// \param on_time whether this check is made when it is due. After a late check, the monitor counts again
    ///     from zero, because this process may have been stopped and not the node.
    std::optional<std::string> check_for_silent_host(bool on_time);
    std::optional<RunStateMachine::Time> next_hang_check() const { return run_->hang.next_check(); }
    /// Compares the progress of the run with that at the last check, if a check is due.
    RunAction check_hang(RunStateMachine::Time now);
    std::optional<RunStateMachine::Time> next_refusal_check() const { return run_->refusal.next_look(); }
    /// Looks whether Slurm refuses the step of the run, if that is due, and ends the run if it does.
    RunAction check_step_refusal(RunStateMachine::Time now);
    std::optional<RunStateMachine::Time> next_idle_check() const { return run_->idle.next_check(); }
    std::optional<RunStateMachine::Time> next_grow_check() const { return run_->grow.next_check(); }
    /// Looks whether more nodes are idle, if that is due, and asks the run to stop if it would get some of
    /// them.
    RunAction check_grow(RunStateMachine::Time now);
    /// Looks whether the run is idle, if that is due: warns of it, or asks it to stop.
    RunAction check_idle(RunStateMachine::Time now);
    /// The exit code of the run, once it has ended.
    int exit_code() const { return run_->exit_code; }
    std::optional<lifecycle::RunOutcome> const& outcome() const { return run_->outcome; }
    /// Nodes that later runs of the trial must not use.
    std::vector<std::string> bad_hosts() const;

    /// Handles what the trial has reported to its search. Returns what to do about the run.
    RunAction follow_search();

    /// Passes a signal of Slurm on to a batch script.
    void signal_script(int number);
    /// Delivers the notice to a batch script once: Slurm has begun to preempt the job, and has told the steps
    /// only.
    void notify_script();

    void ask_to_stop();
    /// Asks the wrappers for the stacks of all ranks.
    void show_stacks();
    /// Ends the step by a signal to srun.
    void kill_step();
    /// Kills srun and asks Slurm to end the step. Needed if srun does not notice that a part of its step is
    /// gone.
    void abandon_step();
    /// Exit code of the step; nullopt while it runs, 0 if the run has no step.
    std::optional<int> poll_exit() { return run_->step ? run_->step->poll_exit() : 0; }
    /// Records the times that Slurm shows for the job: once while the job runs, and when it has ended. Does
    /// so at a later call if the file system does not answer.
    void note_allocation(std::optional<slurm::JobStatus> const& job);
    /// Determines why the run ended and what follows, and records it, unless a newer incarnation owns the
    /// trial.
    Status finish_run(int exit_code, std::optional<slurm::JobStatus> const& job, bool slurm_answered);
    /// Whether all tasks of the run ended with 0, which srun learns from every node.
    bool all_nodes_answered() const {
        return run_ && run_->step && run_->exit_code == 0 && run_->machine.silent_host().empty();
    }
    /// Records a new outcome in place of the first one, for example if the job could not be requeued.
    Status change_outcome(lifecycle::RunOutcome outcome);
    Status record_requeued() { return run_->record.record_requeued(context_.clock.now()); }
    /// Waits until the step has ended; the lane is idle then.
    void wait_and_clear();

    /// Ends the step by scancel.
    void cancel_step();

    /// Removes what the ranks of the trial have kept in the memory of the job's nodes, after its last run
    /// here. Does nothing without slurm.memory_checkpoints, and if a newer run exists elsewhere.
    void remove_snapshots();
    /// Ends the interpreters that wait for a further run of the trial (slurm.warm_start).
    void end_warm_start() { warm_start_.end(run_ && !run_->lost_hosts.empty()); }

private:
    struct Run {
        RunPlan plan;
        RunRecord record;
        RunStateMachine machine;
        HeartbeatMonitor heartbeats;
        GoneNodes gone;
        HangDetector hang;
        IdleDetector idle;
        GrowDetector grow;
        RunUseReader use;
        RunFileWatch notice;
        RunFileWatch requeue_request;
        StorageProbe reading, writing;
        std::optional<SearchFollower> search;
        std::optional<slurm::StepProcess> step;
        std::optional<lifecycle::RunOutcome> outcome;
        HealthVerdict health;
        int exit_code = 0;
        std::uint64_t output_begin_bytes = 0;  // srun's messages about this run begin here
        UtcTime began = {};
        std::chrono::steady_clock::time_point step_began = {};
        std::string search_error = {};             // the last one that was logged
        std::vector<std::string> lost_hosts = {};  // that the network did not reach
        bool has_killed_node = false;              // the file for the wrappers that wait is written
        bool has_allocation = false;               // the job's times are recorded
        bool has_storage_failed = false;           // the last probe has failed
        bool was_notified = false;                 // by notify_script()
        bool is_slurmstepd_gone = false;           // on the silent host
        StepRefusalWatch refusal = {};
        std::string step_refusal = {};  // why Slurm did not create the step; empty: it did
        std::string idle_use = {};      // why the run was asked to stop as idle
        bool is_use_unknown = false;    // logged: a node can't measure its GPUs
        bool was_stopped_before_step = false;
        bool was_signalled = false;                   // a batch script, by another signal than TERM
        bool has_noted_tasks = false;                 // the file that says that tasks may live is there
        std::unique_ptr<NodeWatch> nodes = {};        // nullptr: only their files show that nodes live
        std::optional<SamplerFollower> sampler = {};  // while its step runs, if a sampler may prune it
    };

    // lane_begin.cpp
    Result<RunPlan> plan_run(RunId id, search::TrialDraw const& draw) const;
    std::vector<std::string> find_warm_hosts(RunId id, ResumePoint const& resume) const;
    Run make_run(RunPlan plan, RunRecord record, std::optional<SearchFollower> search) const;
    Result<std::optional<TrialBeginning>> find_beginning(std::uint32_t trial, std::string const& refusal,
                                                         Meanwhile const& meanwhile) const;
    Ports reserve_ports();
    Status start(Environment environment);
    bool is_stopped_by_user();
    Status stop_before_step();
    Result<slurm::StepProcess> start_step(Environment const& environment) const;
    Status end_before_start();
    Status end_without_hyperparameters(std::string const& why);

    // lane_checks.cpp
    std::string find_step_refusal(RunStateMachine::Time now);
    RunAction follow_sampler();
    void log_search_error(Error const& error);
    bool can_write_storage();
    void end_if_superseded();
    std::chrono::milliseconds newest_run_limit() const;
    /// The number of nodes that the run would have if its job were requeued now; its own if that is not
    /// known.
    int find_nodes_after_requeue() const;
    std::vector<std::optional<std::string>> find_activity() const;
    void warn_of_idle_run(std::string const& use);
    void log_unknown_use(RunUse const& use);

    // lane.cpp
    void send_request(std::string_view request);
    template <class Write>
    void write_request(Write const& write);
    void mark_abandoned();
    bool has_new_allocation(std::optional<slurm::JobStatus> const& job) const;
    void record_allocation(slurm::JobStatus const& job);
    void notify(std::string_view event, std::string const& message, std::string_view next) const;

    // lane_end.cpp
    lifecycle::SearchFacts gather_search_facts();
    bool may_train_on() const;
    bool was_warned_of_time_limit(lifecycle::RunFacts const& facts) const;
    void add_successor(lifecycle::RunFacts& facts);
    Status apply_to_search(lifecycle::RunOutcome& outcome);
    bool has_step_ended();
    bool may_tasks_live();
    Status note_living_tasks();
    void forget_ended_tasks();
    bool remove_files_of_tasks(NextAction next_action);
    void remove_files_of_trial();
    Status record_outcome(lifecycle::RunOutcome outcome);
    Status record_end(lifecycle::RunOutcome outcome, Status const& noted);

    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    Claims& claims_;
    PortReservations& ports_;
    events::EventHook& hook_;
    WarmStart warm_start_;
    std::optional<Run> run_;
};

}  // namespace det::launch::supervisor
