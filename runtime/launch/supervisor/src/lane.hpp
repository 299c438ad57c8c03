#pragma once
#include <det/launch/supervisor/pulses.hpp>
#include <det/launch/supervisor/run_environment.hpp>
#include <det/launch/supervisor/run_record.hpp>
#include <det/launch/supervisor/run_watch.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/slurm/step_process.hpp>

#include <optional>

namespace det::launch::supervisor {

/// A share of the job that runs one trial after another; the whole of it where trials don't share nodes. Idle
/// between them.
class Lane {
public:
    Lane(Assignment const& assignment, Surroundings const& around)
        : assignment_(assignment), around_(around) {}

    /// The next run of that trial. Where its step can't even be started the run has ended already: see
    /// verdict().
    Status begin(std::uint32_t trial);

    bool is_idle() const { return !run_; }
    /// The step goes on, and what it is to be remembered for has been written down.
    bool is_judged() const { return run_ && run_->verdict; }
    bool is_running() const { return run_ && !run_->verdict; }
    int pidfd() const { return run_ && run_->step ? run_->step->pidfd() : -1; }
    RunWatch& watch() { return run_->watch; }
    RunId id() const { return run_->record.id(); }
    Desired desired() const;
    /// A node of the run that is not heard of any more. `on_time`: the last look was made when it should be.
    std::optional<std::string> find_silent_host(bool on_time);
    std::optional<lifecycle::RunVerdict> const& verdict() const { return run_->verdict; }
    /// Nodes that no further run of the trial may have.
    std::vector<std::string> bad_hosts() const;

    void ask_to_stop();
    void kill_step();
    /// Where srun does not see that a part of its step is gone: Slurm is told to end it, and srun is ended.
    void abandon_step();
    /// Nothing while it goes on.
    std::optional<int> poll_exit() { return run_->step ? run_->step->poll_exit() : 0; }
    /// Decides why the run ends and what follows, and writes it down, unless the trial is somebody else's by
    /// now.
    Status judge(int exit_code, std::optional<slurm::JobStatus> const& job, bool slurm_answered);
    /// What was to follow can't be done.
    Status change_verdict(lifecycle::RunVerdict verdict);
    Status note_queued_again() { return run_->record.queued_again(around_.clock.now()); }
    /// Waits until the step is gone.
    void leave();

    void clear_step();

private:
    struct Run {
        RunPlan plan;
        RunRecord record;
        RunWatch watch;
        Pulses pulses;
        std::optional<slurm::StepProcess> step;
        std::optional<lifecycle::RunVerdict> verdict;
        int exit_code = 0;
        std::uint64_t output_begin_bytes = 0;  // what srun says of this run stands behind it
    };

    Result<RunPlan> plan_run(std::uint32_t trial) const;
    Result<lifecycle::RunFacts> gather_facts() const;
    Status add_log_policies(lifecycle::RunFacts& facts) const;
    Status add_failed_nodes(lifecycle::RunFacts& facts) const;
    Status add_unreached_nodes(lifecycle::RunFacts& facts) const;
    std::string find_refusal() const;
    Status weigh_bad_nodes(lifecycle::BadNodes& bad) const;
    Status record_verdict(lifecycle::RunVerdict verdict);

    Assignment const& assignment_;
    Surroundings const& around_;
    std::optional<Run> run_;
};

}  // namespace det::launch::supervisor
