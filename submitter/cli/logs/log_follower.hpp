#pragma once
#include <det/lifecycle/state.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "logs/log_reader.hpp"
#include "session.hpp"

namespace det::cli {

/// Selects lines of a trial's logs.
struct LogChoice {
    std::optional<std::uint32_t> run;
    std::string node;       // the node's number in the run, or its name; empty: all nodes
    std::string container;  // the same, as Determined names it; no lines if it is another node
    LogFilter filter;
};

/// How far a node's log of a run was read.
struct LogPosition {
    std::uint32_t run = 0;
    int node = 0;
    std::size_t offset = 0;
    friend bool operator==(LogPosition const&, LogPosition const&) = default;
};

/// Reads the node logs of a trial repeatedly. Each reading finds new runs and logs and passes the new lines
/// to a sink: one run after the other, the lines of a run ordered by time.
class LogFollower {
public:
    LogFollower(TrialLayout trial, LogChoice choice) : trial_(std::move(trial)), choice_(std::move(choice)) {}

    /// Skips earlier lines, so that at least the last `count` selected lines remain, and the lines that are
    /// written later. More than `count` may remain, because the logs of a run are skipped separately.
    Status skip_to_tail(std::size_t count);
    Result<SinkResult> read_new_lines(TornLine torn, LogSink const& sink);

    /// The positions up to which the logs that were found have been read.
    std::vector<LogPosition> positions() const;
    /// Sets the positions from which logs are read. A log without a position is read from the first line that
    /// the filter can select.
    void resume_at(std::vector<LogPosition> const& positions);
    /// For each log that was found: the position of the first line that this reader has read or will read. It
    /// is the position of resume_at() or of skip_to_tail(), or otherwise that of the first line that the
    /// filter can select.
    std::vector<LogPosition> starts() const;

    /// The last lines before a position, of one run: a page that ends where another one begins.
    struct EarlierLogs {
        std::uint32_t run = 0;
        std::vector<NodeLog> logs;  // from the first of about `count` lines to the position
    };
    /// Looks for lines before the positions of resume_at(), in the latest run that has some. nullopt if there
    /// are none.
    Result<std::optional<EarlierLogs>> find_earlier(std::size_t count);

private:
    struct RunLogs {
        std::map<int, NodeLog> nodes;
        bool is_complete = false;
    };

    Result<std::vector<std::uint32_t>> list_runs() const;
    Result<std::vector<NodeLog>> find_logs(std::uint32_t run);
    Result<int> number_of(std::string const& node, std::uint32_t run) const;
    Result<std::optional<int>> find_node(std::uint32_t run) const;
    Result<std::size_t> first_offset(std::uint32_t run, int node, std::filesystem::path const& path) const;

    TrialLayout trial_;
    LogChoice choice_;
    std::map<std::uint32_t, RunLogs> runs_;
    std::map<std::pair<std::uint32_t, int>, std::size_t> resumed_;  // offsets by run and node
    std::map<std::pair<std::uint32_t, int>, std::size_t> starts_;
};

/// Passes the log lines of a trial to `sink` until the trial has ended or is interrupted, or the sink stops.
/// Calls `after_reading` after each reading, with the experiment as it was before. Returns the experiment as
/// it was at the end.
using AfterReading = std::function<void(tracker::history::ExperimentView const&)>;
Result<tracker::history::ExperimentView> follow_trial(RootLayout const& root, TrialId id,
                                                      LogFollower& follower, LogSink const& sink,
                                                      AfterReading const& after_reading, Session& session);

}  // namespace det::cli
