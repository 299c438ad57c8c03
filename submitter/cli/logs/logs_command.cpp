// The commands `trial logs` and `experiment logs`.
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/host_list.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "command.hpp"
#include "experiment/interrupt_notice.hpp"
#include "experiment/live_status.hpp"
#include "logs/log_follower.hpp"
#include "logs/log_line.hpp"
#include "logs/log_printer.hpp"
#include "output/load_interruptions.hpp"
#include "output/no_such_name.hpp"

namespace det::cli {
namespace {

/// Prints only the first lines (head) or the last existing lines (tail) of a stream; all lines without
/// either.
class LogWindow {
public:
    /// codes::usage if both head and tail are given.
    static Result<LogWindow> make(std::optional<std::uint32_t> head, std::optional<std::uint32_t> tail) {
        if (head && tail) {
            return Error{codes::usage, "--head and --tail exclude each other", "give one of them"};
        }
        LogWindow window;
        window.head_ = head;
        window.tail_ = tail;
        return window;
    }

    template <class Print>
    SinkResult take(LogLine const& line, Print&& print) {
        if (head_) {
            if (*head_ == 0) return SinkResult::stop;
            print(line);
            return --*head_ == 0 ? SinkResult::stop : SinkResult::go_on;
        }
        if (tail_) {
            keep(line);
        } else {
            print(line);
        }
        return SinkResult::go_on;
    }

    /// Prints the kept last lines. The caller calls it after all existing lines were read. Later lines are
    /// printed at once.
    template <class Print>
    void finish(Print&& print) {
        for (auto const& kept : kept_) print(kept.line());
        kept_.clear();
        tail_.reset();
    }

private:
    struct Kept {
        std::string text;
        int node;
        std::uint32_t run;

        LogLine line() const {
            auto parsed = parse_log_line(text);
            parsed.node = node;
            parsed.run = run;
            return parsed;
        }
    };
    void keep(LogLine const& line) {
        if (*tail_ == 0) return;
        if (kept_.size() == *tail_) kept_.pop_front();
        kept_.push_back({std::string(line.whole), line.node, line.run});
    }

    std::optional<std::uint32_t> head_, tail_;
    std::deque<Kept> kept_;
};

Status show(LogFollower& follower, LogWindow window, LogPrinter& printer) {
    auto const print = [&](LogLine const& line) { printer.print(line); };
    DET_TRY(follower.read_new_lines(TornLine::show,
                                    [&](LogLine const& line) { return window.take(line, print); }));
    window.finish(print);
    return Ok{};
}

Status follow(RootLayout const& root, TrialId id, LogFollower& follower, LogWindow window,
              LogPrinter& printer, Session& session) {
    LiveStatus status(root, id.experiment, LiveStatus::Answer::log_lines, session);
    InterruptNotice const notice(id.experiment, "logs --follow " + to_string(id), session);
    auto const print = [&](LogLine const& line) {
        status.clear();
        printer.print(line);
    };
    auto const sink = [&](LogLine const& line) { return window.take(line, print); };
    // Reads all existing lines first, because the tail is known only then. Then follows new lines.
    DET_TRY_ASSIGN(auto const go, follower.read_new_lines(TornLine::leave, sink));
    window.finish(print);
    printer.flush();
    if (go == SinkResult::stop) return Ok{};
    auto const after_reading = [&](tracker::history::ExperimentView const& view) {
        printer.flush();
        status.update(view);
    };
    DET_TRY_ASSIGN(auto const view, follow_trial(root, id, follower, sink, after_reading, session));
    session.say(fmt::format("trial {}: {}", to_string(id), to_string(view.trials[id.index].state)));
    return Ok{};
}

Result<UtcTime> require_moment(std::string_view option, std::string const& text, UtcTime now) {
    if (auto const moment = parse_moment(text, now)) return *moment;
    return Error{
        codes::usage, fmt::format("{} '{}' is not a time", option, text),
        "write 2026-11-21T12:00:00Z, 2026-11-21T12:00, 2026-11-21, or how long ago: 90s, 15m, 2h, 3d"};
}

enum class LogsOf { trial, experiment };

/// `experiment logs` prints the logs of the first trial, as
/// Determined does.
class LogsCommand final : public Command {
public:
    explicit LogsCommand(LogsOf of) : of_(of) {}
    std::vector<Option> options() override;
    Outcome run(Session& session) override;

private:
    Result<TrialId> require_id() const;
    Result<LogChoice> choose(UtcTime now) const;
    /// Fails if the trial does not exist. Without --follow also fails if the requested run does not exist;
    /// with --follow the run may still begin.
    Status require_run(RootLayout const& root, TrialId id) const;
    Status add_lines_without_label(RootLayout const& root, TrialId id, LogFilter& filter) const;
    /// Fails if no run has the node, unless the trial has not begun.
    Status require_node(std::string const& node, RootLayout const& root, TrialId id) const;
    /// Fails if the trial neither has a requested rank nor a line of it: a script may start more ranks than
    /// the trial has slots.
    Status require_ranks(RootLayout const& root, TrialId id) const;

    LogsOf of_;
    std::string id_;
    bool follow_ = false;
    std::vector<std::uint32_t> ranks_;
    std::optional<std::uint32_t> run_, head_, tail_;
    std::optional<std::string> node_, container_, since_, until_, level_, grep_, source_, stdtype_;
};

}  // namespace

std::vector<Option> LogsCommand::options() {
    return {{"id", &id_, of_ == LogsOf::trial ? "the trial" : "the experiment", Need::required},
            {"-f,--follow", &follow_, "also print new lines until the trial has ended"},
            {"--rank,--rank-id", &ranks_, "only this rank; may be repeated"},
            {"--node,--agent-id", &node_, "only this node: its number in the run, or its name"},
            {"--container-id", &container_, "the same as --node"},
            {"--run", &run_, "only this run"},
            {"--head", &head_, "only the first N lines"},
            {"--tail", &tail_, "only the last N lines"},
            {"--since,--timestamp-after", &since_, "only lines from then on"},
            {"--until,--timestamp-before", &until_, "only lines up to then"},
            {"--level", &level_, "only lines of this level and more severe ones"},
            {"--grep", &grep_, "only lines whose text matches this expression"},
            {"--source", &source_, "no effect: all lines are those of the trial's programs"},
            {"--stdtype",
             &stdtype_,
             "no effect: the log has both streams in one",
             Need::optional,
             {"stdout", "stderr"}}};
}

Outcome LogsCommand::run(Session& session) {
    DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
    DET_TRY_ASSIGN(auto const id, require_id());
    DET_TRY_ASSIGN(auto choice, choose(session.clock.now()));
    DET_TRY_ASSIGN(auto const window, LogWindow::make(head_, tail_));
    DET_TRY(require_run(root, id));
    DET_TRY(add_lines_without_label(root, id, choice.filter));
    if (source_ || stdtype_)
        session.warn({codes::usage,
                      "--source and --stdtype have no effect: the log has all lines in one stream",
                      "select lines with --rank, --node, --level or --grep"});
    for (auto const& name : {node_, container_}) {
        auto node = name ? require_node(*name, root, id) : Status(Ok{});
        if (node) continue;
        if (!follow_) return std::move(node).error();
        session.warn(std::move(node).error());  // a later run may have it
    }
    if (auto ranks = require_ranks(root, id); !ranks) {
        if (!follow_) return std::move(ranks).error();
        session.warn(std::move(ranks).error());  // the rank may still begin
    }
    LogFollower follower(ExperimentLayout(root, id.experiment).trial(id.index), std::move(choice));
    if (tail_) DET_TRY(follower.skip_to_tail(*tail_));
    LogPrinter printer(session);
    if (!follow_) {
        DET_TRY(show(follower, window, printer));
        return ExitCode::done;
    }
    DET_TRY(follow(root, id, follower, window, printer, session));
    DET_TRY(require_ranks(root, id));
    return ExitCode::done;
}

Result<TrialId> LogsCommand::require_id() const {
    if (of_ == LogsOf::trial) return experiment::require_trial_id(id_);
    DET_TRY_ASSIGN(auto const experiment, experiment::require_experiment_id(id_));
    return TrialId{experiment, 0};
}

Result<LogChoice> LogsCommand::choose(UtcTime now) const {
    LogChoice choice{run_, node_.value_or(""), container_.value_or(""), {}};
    choice.filter.only_ranks(ranks_);
    if (since_) {
        DET_TRY_ASSIGN(auto const moment, require_moment("--since", *since_, now));
        choice.filter.since(moment);
    }
    if (until_) {
        DET_TRY_ASSIGN(auto const moment, require_moment("--until", *until_, now));
        choice.filter.until(moment);
    }
    if (level_) {
        auto const level = parse_log_level(*level_);
        if (!level) {
            return Error{codes::usage, fmt::format("'{}' is not a level", *level_),
                         "levels are trace, debug, info, warning, error, critical"};
        }
        choice.filter.at_least(*level);
    }
    if (grep_) DET_TRY(choice.filter.grep(*grep_));
    return choice;
}

Status LogsCommand::require_run(RootLayout const& root, TrialId id) const {
    auto const trial = ExperimentLayout(root, id.experiment).trial(id.index);
    if (!path_exists(trial.path())) {
        tracker::history::JournalHistory history(root);
        DET_TRY_ASSIGN(auto const record, history.load_experiment_without_trials(id.experiment));
        if (id.index >= record.trial_count()) return tracker::history::no_such_trial(id);
    }
    if (!run_ || follow_ || path_exists(trial.run(*run_).path())) return Ok{};
    auto const runs = list_numeric_names(trial.runs()).value_or(std::vector<std::uint32_t>());
    return Error{codes::no_such_trial, fmt::format("trial {} has no run {}", to_string(id), *run_),
                 runs.empty()       ? "it has not begun"
                 : runs.size() == 1 ? fmt::format("its only run is {}", runs.front())
                                    : fmt::format("its runs are {} to {}", runs.front(), runs.back())};
}

/// A trial has the nodes of its runs. One that has not begun may get any node.
Status LogsCommand::require_node(std::string const& node, RootLayout const& root, TrialId id) const {
    auto const trial = ExperimentLayout(root, id.experiment).trial(id.index);
    std::set<std::string> names;
    std::size_t nodes_max = 0;
    for (auto const run : list_numeric_names(trial.runs()).value_or(std::vector<std::uint32_t>())) {
        if (run_.value_or(run) != run) continue;
        // A damaged journal of one run does not hide the logs of the others.
        auto const life = journal::salvage_journal(trial.run(run).supervisor_journal());
        for (auto const& record : life ? life->records : std::vector<Record>()) {
            auto const* const started = std::get_if<RunStarted>(&record);
            if (started == nullptr) continue;
            auto const hosts = expand_host_list(started->hosts);
            if (!hosts) continue;
            names.insert(hosts->begin(), hosts->end());
            nodes_max = std::max(nodes_max, hosts->size());
        }
    }
    auto const number = parse_integer<std::size_t>(node);
    if (names.empty() || names.contains(node) || (number && *number < nodes_max)) return Ok{};
    return no_such_name(codes::no_such_node, "node", node, "trial " + to_string(id), names);
}

/// The only rank of a trial is rank 0, and its lines have no label.
Status LogsCommand::add_lines_without_label(RootLayout const& root, TrialId id, LogFilter& filter) const {
    if (ranks_.empty()) return Ok{};
    DET_TRY_ASSIGN(auto const spec, journal::load_spec(ExperimentLayout(root, id.experiment)));
    if (spec.least_ranks() == 1) filter.take_lines_without_label();
    return Ok{};
}

Status LogsCommand::require_ranks(RootLayout const& root, TrialId id) const {
    if (ranks_.empty()) return Ok{};
    ExperimentLayout const experiment(root, id.experiment);
    DET_TRY_ASSIGN(auto const spec, journal::load_spec(experiment));
    for (auto const rank : ranks_) {
        if (rank < static_cast<std::uint32_t>(spec.shape.ranks())) continue;
        LogChoice of_rank;
        of_rank.filter.only_rank(rank);
        LogFollower lines(experiment.trial(id.index), std::move(of_rank));
        auto const at_first_line = [](LogLine const&) { return SinkResult::stop; };
        DET_TRY_ASSIGN(auto const found, lines.read_new_lines(TornLine::show, at_first_line));
        if (found == SinkResult::go_on) return no_such_rank(id, rank, spec.shape);
    }
    return Ok{};
}

std::unique_ptr<Command> make_experiment_logs() { return std::make_unique<LogsCommand>(LogsOf::experiment); }
std::unique_ptr<Command> make_trial_logs() { return std::make_unique<LogsCommand>(LogsOf::trial); }

/// A task of Determined is a trial here.
std::unique_ptr<Command> make_task_logs() { return make_trial_logs(); }

}  // namespace det::cli
