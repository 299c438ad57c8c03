#include <det/foundation/text.hpp>
#include <det/history/journal_history.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "log_follower.hpp"
#include "log_merge.hpp"
#include "root.hpp"
#include "views.hpp"

namespace det::cli {
namespace {

class TrialLogs final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the trial", Need::required},
                {"--rank,--rank-id", &rank_, "only this rank"},
                {"--run", &run_, "only this run"},
                {"-f,--follow", &follow_, "go on until the trial has ended"}};
    }

    Outcome run(Session& session) override {
        auto const printed = print_runs(session);
        if (!printed) return Diagnostics(printed.error());
        return ExitCode::done;
    }

private:
    Status print_runs(Session& session) const {
        DET_TRY_ASSIGN(auto const root, find_root(session.environment));
        DET_TRY_ASSIGN(auto const id, require_trial_id(id_));
        if (follow_) return follow(root, id, session);
        history::JournalHistory history(root);
        DET_TRY_ASSIGN(auto const runs, history.load_reports(id));
        bool const known = !run_ || *run_ < runs.size();
        if (!known)
            return Error{codes::no_such_trial, fmt::format("trial {} has no run {}", to_string(id), *run_)};
        auto const trial = ExperimentLayout(root, id.experiment).trial(id.index);
        for (auto const& run : runs) {
            if (run_ && *run_ != run.run) continue;
            DET_TRY(merge_node_logs(trial.run(run.run).path(),
                                    [&](LogLine const& line) { print_line(line, run.run, session); }));
        }
        return Ok{};
    }

    Status follow(RootLayout const& root, TrialId id, Session& session) const {
        auto const print = [&](std::uint32_t run, LogLine const& line) {
            if (run_ && *run_ != run) return;
            print_line(line, run, session);
            session.out.flush();
        };
        DET_TRY_ASSIGN(auto const state, follow_trial(root, id, print, session));
        session.say(fmt::format("trial {}: {}", to_string(id), to_string(state)));
        return Ok{};
    }

    void print_line(LogLine const& line, std::uint32_t run, Session& session) const {
        if (rank_ && line.rank != *rank_) return;
        if (!session.wants_json()) {
            session.out << line.whole << '\n';
            return;
        }
        Json const json{{"run", run},
                        {"node", line.node},
                        {"rank", line.rank ? Json(*line.rank) : Json(nullptr)},
                        {"time", line.time},
                        {"message", line.text}};
        session.out << to_line(json) << '\n';
    }

    std::string id_;
    std::optional<std::uint32_t> rank_;
    std::optional<std::uint32_t> run_;
    bool follow_ = false;
};

}  // namespace

std::unique_ptr<Command> make_trial_logs() { return std::make_unique<TrialLogs>(); }

}  // namespace det::cli
