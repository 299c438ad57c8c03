#pragma once
#include <det/events/event_hook.hpp>
#include <det/foundation/polling.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/sampler/load_draw.hpp>
#include <det/search/asha.hpp>

#include <algorithm>
#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <type_traits>

#include "ask_sampler.hpp"
#include "batch_parent.hpp"
#include "claims.hpp"
#include "heartbeats.hpp"
#include "lane.hpp"
#include "ports.hpp"
#include "run_state_machine.hpp"
#include "storage_watch.hpp"
#include "wanted_trials.hpp"

namespace det::launch::supervisor {

/// The job as Slurm shows it, if slurmctld answers.
struct JobSnapshot {
    bool answered = false;
    std::optional<slurm::JobStatus> job;
};

/// The main loop of the supervisor: assigns trials to lanes, waits for signals, steps and timers, and carries
/// out the actions of the lanes' state machines. All of it belongs to one thread.
class JobSupervisor {
public:
    /// \param batch_job, context must outlive this object
    /// \param signals those that Slurm and det-submit send to the supervisor, blocked
    JobSupervisor(BatchJob const& batch_job, SupervisorContext const& context, SignalReader signals);

    /// Runs the trials of the job; see supervise_trials(). Called once.
    Result<int> run();

private:
    using Time = RunStateMachine::Time;

    // supervise.cpp: from the first trial to the last
    std::optional<int> take_over();
    int wait_in_queue(std::string const& what);
    Status end_own_lost_runs();
    void end_ended_runs();
    void assign_trials();
    void assign_wanted_trials();
    bool waits_for_trials();
    bool look_meanwhile(int notices_before);
    void begin(Lane& lane, std::uint32_t trial, std::optional<TrialBeginning> known = {});
    void end_before_step(Lane& lane, int notices_before);
    void stop_on_error(Error const& error);
    StorageWatch::Settings describe_watch(std::string const& what, Lane const* but) const;

    /// Does work on files at the beginning or end of a run. If the shared file system does not answer for too
    /// long meanwhile, a thread ends this process, because a call that does not return can't be given up. The
    /// steps of other lanes are awaited first.
    /// \param what is not done then
    /// \param lane whose step is not awaited
    template <class Work>
    std::invoke_result_t<Work const&> watched(std::string const& what, Lane const* lane, Work const& work) {
        StorageWatch const watch(describe_watch(what, lane));
        return work();
    }

    // supervise_events.cpp: signals, ends of steps, files and timers
    void wait();
    void handle_events();
    bool take_signals();
    void signal_scripts(int number);
    void watch_for_preemption(Time now);
    void schedule_preemption_check();
    bool storage_answers();
    void delay_reading();
    void read_files(bool is_woken, Time now);
    void follow_searches(Time now);
    void check_heartbeats(Time now);
    template <class Ask>
    void for_running_lanes(Ask ask);
    void perform(Lane& lane, RunAction act);
    void query_job();
    JobSnapshot query_slurm(std::chrono::seconds timeout);
    void schedule_next_check();

    // supervise_outcomes.cpp: what follows after a run
    void end_run(Lane& lane, int exit_code);
    void apply_outcome(Lane& lane);
    int failure_code(Lane const& lane) const;
    void release_trial(Lane& lane);
    void stop_other_lanes(Lane const& but);
    void abandon();
    void finish_this_job();
    void wait_for_end_by_slurm();
    void repeat_start(slurm::JobStatus const& job);
    bool would_end(slurm::JobStatus const& next, bool has_waited) const;

    bool any_running() const {
        return std::any_of(lanes_.begin(), lanes_.end(), [](auto const& lane) { return lane.is_running(); });
    }

    /// How long requests to slurmctld are repeated. After SIGTERM, and after a grace period, KillWait seconds
    /// (30 by default) remain to record how the job ends.
    std::chrono::seconds timeout() const {
        return std::chrono::seconds(notice_received_ || is_in_grace_ ? 20 : 120);
    }

    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    // The desired state is in files, and det-submit sends URG when it changes one. The periodic check is for
    // lost signals, and for overdue heartbeats of nodes that are not heard over the network.
    std::chrono::milliseconds const check_interval_ =
        silence_limit([this](auto name) { return context_.environment.find(name); }) /
        HeartbeatMonitor::checks_until_silent;
    bool const has_search_ =
        search::is_asha(batch_job_.spec.searcher.name) || sampler::is_custom(batch_job_.spec);
    pid_t const slurmstepd_ = find_batch_parent(batch_job_.batch_process);
    SignalReader signals_;
    Claims claims_;
    std::optional<WantedTrials> wanted_;  // if the sampler sets lengths
    PortReservations ports_;
    events::EventHook hook_;
    std::list<Lane> lanes_;
    Time next_check_at_;
    Time next_search_at_ = Time::max();
    Time next_preemption_check_at_ = Time::max();  // for batch scripts
    std::string refusal_;                          // why no step may start here; empty: steps may
    bool has_answered_ = true;                     // the shared file system, when it was last asked
    bool reads_late_ = false;                      // a desired state has changed while it did not answer
    bool has_begun_ = false;
    bool goes_back_to_queue_ = false;  // this job waits there for what other tasks train
    bool is_draining_ = false;         // no new run starts in this job
    bool is_superseded_ = false;       // a newer run exists elsewhere: this process must not change the job
    bool notice_received_ = false;     // Slurm has sent SIGTERM
    int notices_ = 0;                  // how many SIGTERMs were taken
    bool is_in_grace_ = false;         // Slurm preempts the job
    bool is_preempted_ = false;        // Slurm preempts the job, or has requeued it
    bool was_completing_ = false;      // the job was COMPLETING at the last query
    std::optional<slurm::JobStatus> ending_job_;  // the answer that showed that Slurm is ending the job
    int exit_code_ = 0;
};

}  // namespace det::launch::supervisor
