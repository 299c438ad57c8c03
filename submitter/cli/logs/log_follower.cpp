#include "logs/log_follower.hpp"

#include <det/experiment/open_experiment.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>

#include "output/load_interruptions.hpp"

namespace det::cli {

Result<std::vector<std::uint32_t>> LogFollower::list_runs() const {
    DET_TRY_ASSIGN(auto runs, list_numeric_names(trial_.runs()));
    std::erase_if(runs, [&](auto run) { return choice_.run.value_or(run) != run; });
    return runs;
}

/// Returns the number of a node of this run; -1 if the run has no node of that name.
Result<int> LogFollower::number_of(std::string const& node, std::uint32_t run) const {
    if (auto const number = parse_integer<int>(node)) return *number;
    DET_TRY_ASSIGN(auto const life, journal::load_journal(trial_.run(run).supervisor_journal()));
    for (auto const& record : life.records) {
        auto const* const started = std::get_if<RunStarted>(&record);
        if (started == nullptr) continue;
        DET_TRY_ASSIGN(auto const hosts, expand_host_list(started->hosts));
        auto const found = std::find(hosts.begin(), hosts.end(), node);
        if (found != hosts.end()) return static_cast<int>(found - hosts.begin());
    }
    return -1;
}

/// Returns the requested node's number in this run; nullopt if all nodes are requested; -1 if there is no
/// such node.
Result<std::optional<int>> LogFollower::find_node(std::uint32_t run) const {
    std::optional<int> wanted;
    for (auto const& name : {choice_.node, choice_.container}) {
        if (name.empty()) continue;
        DET_TRY_ASSIGN(auto const number, number_of(name, run));
        if (wanted && *wanted != number) return std::optional(-1);
        wanted = number;
    }
    return wanted;
}

Result<std::vector<NodeLog>> LogFollower::find_logs(std::uint32_t run) {
    auto const directory = trial_.run(run).path();
    DET_TRY_ASSIGN(auto const only_node, find_node(run));
    DET_TRY_ASSIGN(auto const names, list_directory(directory));
    auto& known = runs_[run].nodes;
    for (auto const& name : names) {
        auto const node = node_of_log(name);
        if (!node || only_node.value_or(*node) != *node || known.contains(*node)) continue;
        DET_TRY_ASSIGN(auto const offset, first_offset(run, *node, directory / name));
        known.emplace(*node, NodeLog{directory / name, *node, offset});
        starts_[{run, *node}] = offset;
    }
    std::vector<NodeLog> logs;
    for (auto const& [node, log] : known) logs.push_back(log);
    return logs;
}

Result<std::size_t> LogFollower::first_offset(std::uint32_t run, int node,
                                              std::filesystem::path const& path) const {
    auto const found = resumed_.find({run, node});
    if (found != resumed_.end()) return found->second;
    auto const time = choice_.filter.since_time();
    return time.empty() ? Result<std::size_t>(0) : find_offset_of_time(path, time);
}

std::vector<LogPosition> LogFollower::starts() const {
    std::vector<LogPosition> starts;
    for (auto const& [key, offset] : starts_) starts.push_back({key.first, key.second, offset});
    return starts;
}

Result<std::optional<LogFollower::EarlierLogs>> LogFollower::find_earlier(std::size_t count) {
    DET_TRY_ASSIGN(auto runs, list_runs());
    std::reverse(runs.begin(), runs.end());
    for (auto const run : runs) {
        // All positions belong to one run. Skips later runs; searches earlier runs as a whole.
        if (!resumed_.empty() && run > resumed_.rbegin()->first.first) continue;
        bool const is_whole = resumed_.empty() || run < resumed_.begin()->first.first;
        DET_TRY_ASSIGN(auto logs, find_logs(run));
        std::size_t lines = 0;
        for (auto& log : logs) {
            auto const position = resumed_.find({run, log.node});
            if (!is_whole) log.end = position == resumed_.end() ? 0 : position->second;
            DET_TRY_ASSIGN(auto const tail, find_tail(log.path, 0, count, choice_.filter, log.end));
            log.offset = tail.offset;
            lines += tail.count;
        }
        if (lines > 0) return std::optional(EarlierLogs{run, std::move(logs)});
    }
    return std::optional<EarlierLogs>();
}

std::vector<LogPosition> LogFollower::positions() const {
    std::vector<LogPosition> positions;
    for (auto const& [run, logs] : runs_) {
        for (auto const& [node, log] : logs.nodes) positions.push_back({run, node, log.offset});
    }
    return positions;
}

void LogFollower::resume_at(std::vector<LogPosition> const& positions) {
    for (auto const& position : positions) resumed_[{position.run, position.node}] = position.offset;
}

Status LogFollower::skip_to_tail(std::size_t count) {
    DET_TRY_ASSIGN(auto runs, list_runs());
    std::reverse(runs.begin(), runs.end());
    for (auto const run : runs) {
        // The newest run may still write, so it is read on from its end even if no earlier line is wanted.
        bool const is_newest = run == runs.front();
        runs_[run].is_complete = count == 0 && !is_newest;
        if (runs_[run].is_complete) continue;
        DET_TRY_ASSIGN(auto const logs, find_logs(run));
        std::size_t lines = 0;
        for (auto const& log : logs) {
            DET_TRY_ASSIGN(auto const tail, find_tail(log.path, 0, count, choice_.filter));
            runs_[run].nodes.at(log.node).offset = tail.offset;
            starts_[{run, log.node}] = tail.offset;
            lines += tail.count;
        }
        // Up to `count` lines of each log remain; the caller drops the surplus of all logs together.
        count -= std::min(count, lines);
    }
    return Ok{};
}

Result<SinkResult> LogFollower::read_new_lines(TornLine torn, LogSink const& sink) {
    DET_TRY_ASSIGN(auto const runs, list_runs());
    for (auto const run : runs) {
        auto& known = runs_[run];
        if (known.is_complete) continue;
        DET_TRY_ASSIGN(auto logs, find_logs(run));
        bool has_news = false;
        DET_TRY_ASSIGN(auto const go, merge_node_logs(logs, run, choice_.filter, torn, sink));
        for (auto const& log : logs) {
            has_news = has_news || known.nodes.at(log.node).offset != log.offset;
            known.nodes.at(log.node) = log;
        }
        if (go == SinkResult::stop) return go;
        // A run before the last one is complete when a reading finds no new lines.
        known.is_complete = run != runs.back() && !has_news;
    }
    return SinkResult::go_on;
}

Result<tracker::history::ExperimentView> follow_trial(RootLayout const& root, TrialId id,
                                                      LogFollower& follower, LogSink const& sink,
                                                      AfterReading const& after_reading, Session& session) {
    experiment::ExperimentPoller poller(root, id.experiment, session);
    for (;;) {
        DET_TRY_ASSIGN(auto view, poller.poll());
        DET_TRY_ASSIGN(auto const trial, experiment::require_trial(view, id));
        bool const is_over = experiment::is_settled(trial.state);
        // The state was read before the logs: if the trial has ended, this reading finds its last lines.
        DET_TRY_ASSIGN(auto const go,
                       follower.read_new_lines(is_over ? TornLine::show : TornLine::leave, sink));
        after_reading(view);
        if (is_over || go == SinkResult::stop) return view;
        poller.sleep_until_next_poll();
    }
}

}  // namespace det::cli
