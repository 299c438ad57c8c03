#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/orphans.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>

#include <sys/types.h>
#include <unistd.h>

#include "file_thread.hpp"
#include "notice_delivery.hpp"
#include "relay.hpp"

namespace det::launch::wrap_rank {

/// All signals that may be forwarded to a command, and SIGCHLD; without signals of a process's own faults,
/// for example SIGSEGV, and without SIGPIPE, SIGTTIN and SIGTTOU.
sigset_t relayed_signals();

/// The command as a child process. It is killed when this process ends, however it ends.
class Child {
public:
    static Result<Child> start(RelayedCommand const& command, Pipe const& out, Pipe const& err);

    pid_t pid() const { return pid_; }
    void signal(int number) const;
    /// Sends a signal to the command's first process only.
    void signal_first_process(int number) const;
    /// Forwards a signal from the terminal (Ctrl-C), unless the child is in this process's group and has
    /// received it.
    void signal_by_terminal(int number) const;

    /// The status of waitpid(2); empty while it runs.
    std::optional<int> poll_wait_status() const;

private:
    enum class Group { own, ours };

    Child(pid_t pid, Group group) : pid_(pid), group_(group) {}
    /// Runs between fork and exec: only calls that neither allocate nor lock.
    /// \param failure gets the errno of a failed exec
    [[noreturn]] static void exec_command(RelayedCommand const& command, Group group, pid_t parent,
                                          Pipe const& out, Pipe const& err, UniqueFd const& failure,
                                          char* const* argv, char* const* variables);

    pid_t pid_;
    Group group_;
};

/// Forwards signals to the command, and sends heartbeats, until the command ends. The destructor waits until
/// the files of the run are written.
class ChildMonitor {
public:
    /// \param error_pipe the pipe of the command's standard error, opened for reading
    /// \param orphans the descendants that are awaited if Slurm's notice has ended the command; nullptr: none
    ChildMonitor(RelayedCommand const& command, Child const& child, UniqueFd const& error_pipe,
                 Orphans* orphans, Clock const& clock)
        : command_(command), child_(child), error_pipe_(error_pipe), orphans_(orphans), clock_(clock) {
        if (!command.handle_request) input_ = -1;
        if (command.beat || command.watch || command.record_notice) files_.emplace(command);
    }

    /// Returns the status of waitpid(2).
    Result<int> wait_for_exit();

private:
    using TimePoint = std::chrono::steady_clock::time_point;

    std::optional<TimePoint> next_wake() const;
    void beat();
    void watch();
    void take_findings();
    enum class By {
        slurm,        // the signal of Slurm has reached this process
        slurm_steps,  // Slurm has signalled the steps of the job, but not its batch script
        supervisor,
    };
    void begin_notice(By by);
    void deliver_notice();
    void take_signals(SignalReader const& signals);
    void read_requests();
    void take_request(Request request);
    /// The status with which this process ends; empty while the command or its orphans run.
    std::optional<int> find_end();
    void show_stacks();
    /// Whether the launcher that started this wrapper has sent the SIGTERM. Inside a run, any other SIGTERM
    /// is Slurm's preemption notice.
    bool is_from_launcher(pid_t sender) const;
    void terminate();
    void pass_on(int number);
    void end_all();
    void kill_if_due();
    void signal_all(int number) const;
    void kill_rest() const;

    RelayedCommand const& command_;
    Child const& child_;
    UniqueFd const& error_pipe_;
    Orphans* orphans_;
    Clock const& clock_;
    std::optional<TimePoint> kill_at_, beat_at_, watch_at_, deliver_at_, notice_until_;
    std::optional<NoticeDelivery> notice_;
    pid_t stack_helper_ = -1;
    int input_ = STDIN_FILENO;  // -1: carries no requests
    std::string unfinished_line_;
    bool has_slurm_notice_ = false;
    bool is_ending_all_ = false;
    std::optional<int> status_;  // of the command, once it has ended
    std::optional<FileThread> files_;
};

}  // namespace det::launch::wrap_rank
