#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root.hpp>
#include <det/foundation/files.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "logs/log_follower.hpp"
#include "logs/log_printer.hpp"
#include "logs/log_window.hpp"
#include "output/views.hpp"

namespace det::cli {
namespace {

class TrialLogs final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the trial", Need::required},
                {"-f,--follow", &follow_, "go on until the trial has ended"},
                {"--rank,--rank-id", &rank_, "only this rank"},
                {"--node", &node_, "only this node: its number in the run, or its name"},
                {"--run", &run_, "only this run"},
                {"--head", &head_, "only the first so many lines"},
                {"--tail", &tail_, "only the last so many lines"},
                {"--since", &since_, "only lines from then on"},
                {"--until", &until_, "only lines up to then"},
                {"--level", &level_, "only lines of this level and graver ones"},
                {"--grep", &grep_, "only lines whose text this is found in"}};
    }

    Outcome run(Session& session) override {
        DET_TRY(print_logs(session));
        return ExitCode::done;
    }

private:
    Status print_logs(Session& session) const {
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const id, experiment::require_trial_id(id_));
        DET_TRY_ASSIGN(auto choice, choose(session.clock.now()));
        DET_TRY_ASSIGN(auto const window, LogWindow::make(head_, tail_));
        DET_TRY(require_run(root, id));
        LogFollower follower(ExperimentLayout(root, id.experiment).trial(id.index), std::move(choice));
        if (tail_) DET_TRY(follower.skip_to_tail(*tail_));
        LogPrinter printer(session);
        return follow_ ? follow(root, id, follower, window, printer, session)
                       : show(follower, window, printer);
    }

    static Status show(LogFollower& follower, LogWindow window, LogPrinter& printer) {
        auto const print = [&](LogLine const& line) { printer.print(line); };
        DET_TRY(follower.read_news(TornLine::show,
                                   [&](LogLine const& line) { return window.take(line, print); }));
        window.finish(print);
        return Ok{};
    }

    static Status follow(RootLayout const& root, TrialId id, LogFollower& follower, LogWindow window,
                         LogPrinter& printer, Session& session) {
        auto const print = [&](LogLine const& line) { printer.print(line); };
        auto const sink = [&](LogLine const& line) { return window.take(line, print); };
        // Reads all existing lines first, because the tail is known only then. Then follows new lines.
        DET_TRY_ASSIGN(auto const go, follower.read_news(TornLine::leave, sink));
        window.finish(print);
        printer.flush();
        if (go == Go::stop) return Ok{};
        DET_TRY_ASSIGN(auto const state, follow_trial(
                                             root, id, follower, sink, [&] { printer.flush(); }, session));
        session.say(fmt::format("trial {}: {}", to_string(id), to_string(state)));
        return Ok{};
    }

    Result<LogChoice> choose(UtcTime now) const {
        LogChoice choice{run_, node_.value_or(""), {}};
        if (rank_) choice.filter.only_rank(*rank_);
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
                return Error{codes::usage, fmt::format("'{}' is no level", *level_),
                             "levels are trace, debug, info, warning, error, critical"};
            }
            choice.filter.at_least(*level);
        }
        if (grep_) DET_TRY(choice.filter.grep(*grep_));
        return choice;
    }

    static Result<UtcTime> require_moment(std::string_view option, std::string const& text, UtcTime now) {
        if (auto const moment = parse_moment(text, now)) return *moment;
        return Error{
            codes::usage, fmt::format("{} '{}' is no time", option, text),
            "write 2026-11-21T12:00:00Z, 2026-11-21T12:00, 2026-11-21, or how long ago: 90s, 15m, 2h, 3d"};
    }

    /// Fails if the trial does not exist, or if the requested run does not exist and --follow is not given.
    /// With
    /// --follow the run may still begin.
    Status require_run(RootLayout const& root, TrialId id) const {
        auto const trial = ExperimentLayout(root, id.experiment).trial(id.index);
        if (!path_exists(trial.path())) {
            DET_TRY_ASSIGN(auto const record,
                           tracker::history::JournalHistory(root).load_experiment(id.experiment));
            DET_TRY(experiment::require_trial(view_experiment(record, {}), id));
        }
        if (!run_ || follow_ || path_exists(trial.run(*run_).path())) return Ok{};
        return Error{codes::no_such_trial, fmt::format("trial {} has no run {}", to_string(id), *run_)};
    }

    std::string id_;
    bool follow_ = false;
    std::optional<std::uint32_t> rank_, run_, head_, tail_;
    std::optional<std::string> node_, since_, until_, level_, grep_;
};

}  // namespace

std::unique_ptr<Command> make_trial_logs() { return std::make_unique<TrialLogs>(); }

}  // namespace det::cli
