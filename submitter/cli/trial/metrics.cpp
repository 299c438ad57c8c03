#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "output/table.hpp"
#include "output/view_json.hpp"

namespace det::cli {
namespace {

class TrialMetrics final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the trial", Need::required},
                {"--group", &group_, "only this group of metrics"},
                {"--all-runs", &all_runs_, "also the reports that a later run superseded"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto reports, load(session));
        if (session.wants_json()) {
            session.answer(as_json(reports));
        } else {
            session.out << as_table(reports);
        }
        return ExitCode::done;
    }

private:
    Result<std::vector<tracker::history::RunReports>> load(Session& session) const {
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const id, experiment::require_trial_id(id_));
        tracker::history::JournalHistory history(root);
        return history.load_reports(id);
    }

    bool wanted(tracker::history::RunReports const& run, MetricsReported const& report) const {
        return (!group_ || report.group == *group_) && (all_runs_ || !run.is_superseded(report));
    }

    Json as_json(std::vector<tracker::history::RunReports> const& runs) const {
        auto answer = Json::array();
        for (auto const& run : runs) {
            for (auto const& report : run.metrics) {
                if (!wanted(run, report)) continue;
                answer.push_back({{"run", run.run},
                                  {"group", report.group},
                                  {"steps_completed", report.steps_completed},
                                  {"time", format_utc(report.time)},
                                  {"superseded", run.is_superseded(report)},
                                  {"metrics", report.metrics}});
            }
        }
        return answer;
    }

    std::string as_table(std::vector<tracker::history::RunReports> const& runs) const {
        std::vector<std::string> header{"Run", "Group", "Steps", "Time", "Metrics"};
        if (all_runs_) header.push_back("Superseded");
        Table table(std::move(header));
        for (auto const& run : runs) {
            for (auto const& report : run.metrics) {
                if (!wanted(run, report)) continue;
                std::string metrics;
                for (auto const& [name, value] : report.metrics->items()) {
                    if (name == "batch_metrics")
                        continue;  // many values, which Determined does not show either
                    metrics += fmt::format("{}{}={}", metrics.empty() ? "" : " ", name, to_line(value));
                }
                std::vector<std::string> row{std::to_string(run.run), report.group,
                                             std::to_string(report.steps_completed), short_time(report.time),
                                             metrics};
                if (all_runs_) row.push_back(run.is_superseded(report) ? "yes" : "");
                table.add(std::move(row));
            }
        }
        return table.render();
    }

    std::string id_;
    std::optional<std::string> group_;
    bool all_runs_ = false;
};

}  // namespace

std::unique_ptr<Command> make_trial_metrics() { return std::make_unique<TrialMetrics>(); }

}  // namespace det::cli
