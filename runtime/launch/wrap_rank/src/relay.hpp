#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/step_run.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace det::launch::wrap_rank {

/// The label that is put before the lines of a command, and the log to which they are copied.
struct OutputSettings {
    std::string prefix;  // put before every line in the log, and of the labelled streams; empty: of none
    LabelledStreams labelled = {};             // the bytes of the other streams pass unchanged
    std::optional<std::filesystem::path> log;  // lines are appended to this file, with their time
    /// Set by the wrapper of a node's command. Returns whether the ranks' own wrappers log the lines that
    /// begin with a rank's label, and those of streams that have no labels.
    std::function<bool()> ranks_write_log = {};
};

enum class StartedBy { slurm, launcher };

/// What a command is: it decides which of its processes get signals, and what its end means for the others.
enum class CommandKind {
    task,  // of a step: signals go to its process group, and the processes that it leaves behind live on
    /// A batch script: as in Slurm, signals go to its first process only, and its end ends all that it has
    /// started.
    batch_script,
};

/// What happens with a signal that a wrapper has received.
enum class SignalUse {
    forward,  // the command's process group gets it
    notice,   // it is Slurm's notice, which the command gets as `notice_signals`
};

/// What the supervisor asks of a wrapper.
enum class Request {
    none,
    notice,        // the command gets `notice_signals`
    slurm_notice,  // the same, but Slurm has signalled the tasks of the other steps
    end,           // all processes of the command get TERM, and KILL after terminate_grace
    show_stacks,   // `stack_helper` is started
};

/// The functions that may wait for the shared file system, from write_waits to watch, are called on a thread
/// of their own, one at a time.
struct RelayedCommand {
    std::vector<std::string> argv;
    Environment environment;
    std::optional<std::filesystem::path> directory;
    OutputSettings labels;
    sigset_t signal_mask;  // of the command
    CommandKind kind = CommandKind::task;
    /// Whether standard output and error are one file: they are forwarded through one pipe, which keeps the
    /// order of what the command writes.
    bool merges_streams = false;
    /// Called for each signal except SIGCHLD and the SIGTERM of the launcher that started this wrapper.
    /// Empty: all signals are forwarded.
    std::function<SignalUse(int)> handle_signal = {};
    /// Called for each line of standard input, and for each request of find_requests. Empty: standard input
    /// belongs to the command; otherwise that of the command is empty.
    std::function<Request(std::string_view)> handle_request = {};
    /// The signals by which the command gets a notice, once; empty: none.
    std::vector<int> notice_signals = {};
    /// Whether Slurm sends its signals to every process, so that the command has got them already.
    bool signals_reach_all = false;
    /// DET_RUN_KEY. A notice by request is delivered to the tasks of other steps of this run on this node
    /// too; Slurm's own notice is sent to them by Slurm.
    std::string run_key = {};
    /// If Slurm's notice ends the command, its descendants that live on are awaited: they may save their work
    /// while, for example, the shell in front of them has been ended by the signal.
    bool awaits_orphans = false;
    /// A program that prints the stacks of the command's processes as lines of the command's standard error.
    /// It gets the number of the command's process as its last argument.
    std::vector<std::string> stack_helper = {};
    /// Called when the stacks are asked for.
    std::function<void()> write_waits = {};
    /// Called when the delivery of Slurm's notice has begun.
    std::function<void()> record_notice = {};
    /// Called once at the start and then at this interval while the command runs. If the function returns
    /// false, the command is killed.
    std::function<bool()> beat = {};
    std::chrono::milliseconds beat_interval{0};
    /// Called after each heartbeat. Returns requests that standard input may not have brought, as lines.
    std::function<std::vector<std::string_view>()> find_requests = {};
    /// Called at the start and then at sample_interval while the command runs.
    std::function<void()> watch = {};
    std::chrono::milliseconds sample_interval{0};
    /// Called with the exit code when the command has ended and its output is forwarded, before the files of
    /// the run are awaited.
    std::function<void(int)> when_ended = {};
    /// If a launcher started this wrapper, the launcher may send SIGTERM to end the rank. The command's
    /// process group then gets TERM, and KILL after terminate_grace.
    StartedBy started_by = StartedBy::slurm;
    /// The process that started this one: the command is killed when it is gone. Taken early, because files
    /// are prepared before the command starts.
    pid_t parent = ::getppid();
};

inline constexpr std::chrono::seconds terminate_grace{3};
/// After the command's end, output of processes that it left behind is forwarded for at most this time.
inline constexpr std::chrono::seconds output_grace{1};

/// How a command ended.
struct CommandEnd {
    int exit_code = 0;
    int signal = 0;           // the signal that ended it, or 0
    UtcTime time;             // when it ended, by this process's clock
    std::string last_output;  // its last lines; empty without a log
};

/// Runs a command as a child, forwards its output, and signals as `handle_signal` says. The child has a
/// process group of its own, unless this process is in the foreground of a terminal. Memory is bounded.
/// Returns when the child has ended and its output is written; output of its descendants is awaited for at
/// most output_grace. The child is killed if this process ends, however it ends.
Result<CommandEnd> relay(RelayedCommand const& command, Clock const& clock);

/// Blocks the signals that relay() forwards, so that none is lost before it runs. Returns the previous mask.
sigset_t block_relayed_signals();

}  // namespace det::launch::wrap_rank
