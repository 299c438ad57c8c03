#pragma once
#include <det/lifecycle/state.hpp>
#include <det/protocol/layout.hpp>

#include <map>
#include <string>
#include <vector>

#include "logs/log_merge.hpp"
#include "session.hpp"

namespace det::cli {

/// Selects lines of a trial's logs.
struct LogChoice {
    std::optional<std::uint32_t> run;
    std::string node;  // its number in the run, or its name; empty: all
    LogFilter filter;
};

/// Reads the node logs of a trial and passes on what it has not passed on before: run after run, the lines of
/// one reading in the order of their times. Finds new runs and logs.
class LogFollower {
public:
    LogFollower(TrialLayout trial, LogChoice choice) : trial_(std::move(trial)), choice_(std::move(choice)) {}

    /// Skips all but the last `count` lines.
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

/// Passes on what a trial prints until it has ended or the sink stops; calls `flush` after each reading.
/// Returns the trial's last state.
Result<lifecycle::State> follow_trial(RootLayout const& root, TrialId id, LogFollower& follower,
                                      LogSink const& sink, std::function<void()> const& flush,
                                      Session& session);

}  // namespace det::cli
