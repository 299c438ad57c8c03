#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>

namespace det::telemetry {

/// A process as /proc/PID/stat shows it.
struct ProcessTimes {
    pid_t pid = 0, parent = 0;
    std::string name = {};         // at most 15 bytes
    char state = ' ';              // 'R', 'S', 'D', 'Z', 'T': stopped, 't': stopped by a debugger ...
    std::uint64_t cpu_ticks = 0;   // of the process and its children that have ended and were awaited
    std::uint64_t start_tick = 0;  // with the pid, this identifies the process

    friend bool operator==(ProcessTimes const&, ProcessTimes const&) = default;
};

/// Parses /proc/PID/stat. The name may contain anything, also blanks and parentheses. Pure.
std::optional<ProcessTimes> parse_process_times(std::string_view text);

/// What the processes of a run have done so far, as far as it was seen.
struct RunCpuTime {
    std::uint64_t ticks = 0;
    bool is_stopped = false;  // a process is stopped by a signal or a debugger

    friend bool operator==(RunCpuTime const&, RunCpuTime const&) = default;
};

/// Adds up what the processes of a run use, which are those that were started for it and all below them,
/// without the programs of det-submit and Slurm themselves. The sum never falls: what a process has used
/// stays in it after its end, because a run may consist of short processes whose parent never calls wait().
/// When a parent waits for a child, the time of the child counts a second time. Pure.
class RunCpuSum {
public:
    /// Adds the growth of each process since the last sample, and all that a new one has used.
    RunCpuTime add(std::span<ProcessTimes const> processes, std::set<pid_t> const& started_for_run);

private:
    std::uint64_t ticks_ = 0;
    std::map<std::pair<pid_t, std::uint64_t>, std::uint64_t> seen_;  // ticks by pid and start
};

/// Reads the time of all processes of a run on this node. A process of the run has the run's key in the
/// environment with which it was started, or an ancestor that has. One thread.
class RunProcesses {
public:
    /// \param proc /proc, or a copy in tests
    /// \param variable "NAME=VALUE", which every task of the run has in its environment
    RunProcesses(std::filesystem::path proc, std::string variable)
        : proc_(std::move(proc)), variable_(std::move(variable)) {}

    RunCpuTime read();

private:
    bool has_variable(pid_t pid) const;

    std::filesystem::path proc_;
    std::string variable_;
    // Processes of the run, by their start. The environment of others is read again: they may start a
    // program.
    std::map<pid_t, std::uint64_t> known_;
    RunCpuSum sum_;
};

}  // namespace det::telemetry
