#pragma once
#include <det/lifecycle/state.hpp>
#include <det/protocol/directory_layout.hpp>

#include <map>
#include <string>
#include <vector>

#include "logs/log_reader.hpp"
#include "session.hpp"

namespace det::cli {

/// Selects lines of a trial's logs.
struct LogChoice {
    std::optional<std::uint32_t> run;
    std::string node;  // the node's number in the run, or its name; empty: all nodes
    LogFilter filter;
};

/// Reads the node logs of a trial repeatedly. Each reading finds new runs and logs and passes the new lines
/// to a sink: one run after the other, the lines of a run ordered by time.
class LogFollower {
public:
    LogFollower(TrialLayout trial, LogChoice choice) : trial_(std::move(trial)), choice_(std::move(choice)) {}

    /// Skips earlier lines, so that at least the last `count` selected lines remain. More than `count` may
    /// remain, because the logs of a run are skipped separately.
    Status skip_to_tail(std::size_t count);
    Result<Go> read_news(TornLine torn, LogSink const& sink);

private:
    struct RunLogs {
        std::map<int, NodeLog> nodes;
        bool is_complete = false;
    };

    Result<std::vector<std::uint32_t>> list_runs() const;
    Result<std::vector<NodeLog>> find_logs(std::uint32_t run);
    Result<std::optional<int>> find_node(std::uint32_t run) const;

    TrialLayout trial_;
    LogChoice choice_;
    std::map<std::uint32_t, RunLogs> runs_;
};

/// Passes the log lines of a trial to `sink` until the trial has ended or is interrupted, or the sink stops.
/// Calls `flush` after each reading. Returns the trial's last state.
Result<lifecycle::State> follow_trial(RootLayout const& root, TrialId id, LogFollower& follower,
                                      LogSink const& sink, std::function<void()> const& flush,
                                      Session& session);

}  // namespace det::cli
