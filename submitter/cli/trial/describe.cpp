#include <det/experiment/open_experiment.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/tracker/history/history.hpp>
#include <det/tracker/history/progress.hpp>
#include <det/tracker/history/search_view.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>
#include <span>

#include "command.hpp"
#include "output/first_failure.hpp"
#include "output/load_interruptions.hpp"
#include "output/metric_reports.hpp"
#include "output/table.hpp"
#include "output/trial_text.hpp"
#include "trial/rank_wait_summary.hpp"

namespace det::cli {
namespace {

/// What the trial's program has reported: the last values of set_status() and set_metadata(), all calls of
/// alert(), to which those of its supervisors are added, and how far it has trained. `dropped` counts reports
/// that were not recorded.
struct ProgramReport {
    std::optional<double> progress;
    std::optional<std::string> status;
    std::vector<AlertRaised> alerts;
    std::optional<JsonValue> metadata;
    std::uint64_t dropped = 0;
};

ProgramReport last_report(std::vector<tracker::history::RunReports> const& runs) {
    ProgramReport report;
    for (auto const& run : runs) {
        if (run.status) report.status = run.status;
        if (run.metadata) report.metadata = run.metadata;
        report.alerts.insert(report.alerts.end(), run.alerts.begin(), run.alerts.end());
        report.dropped += run.dropped_reports;
    }
    return report;
}

/// Adds the alerts of the trial's supervisors, in the order of time.
void add_alerts(ProgramReport& report, tracker::history::TrialView const& trial) {
    for (auto const& run : trial.record.runs)
        report.alerts.insert(report.alerts.end(), run.alerts.begin(), run.alerts.end());
    std::ranges::stable_sort(report.alerts, {}, [](auto const& alert) { return alert.time.microseconds; });
}

std::string report_text(ProgramReport const& report, TimeText const& time_text) {
    std::string text;
    if (report.progress) text += fmt::format("Progress: {:.0f} %\n", *report.progress * 100);
    if (report.status) text += fmt::format("Status: {}\n", escape_control(*report.status));
    if (report.metadata) text += fmt::format("Metadata: {}\n", escape_control(to_line(**report.metadata)));
    if (report.dropped > 0) text += fmt::format("Dropped reports: {}\n", report.dropped);
    for (auto const& alert : report.alerts) {
        auto const separator = alert.title.empty() || alert.description.empty() ? "" : ": ";
        text += fmt::format("Alert: {} {}: {}\n", time_text(alert.time), alert.level,
                            escape_control(alert.title + separator + alert.description));
    }
    return text;
}

void add_report(Json& answer, ProgramReport const& report) {
    answer["progress"] = json_or_null(report.progress);
    answer["status"] = json_or_null(report.status);
    answer["metadata"] = report.metadata ? **report.metadata : Json(nullptr);
    answer["dropped_reports"] = report.dropped;
    answer["alerts"] = Json::array();
    for (auto const& alert : report.alerts) answer["alerts"].push_back(tracker::history::to_json(alert));
}

constexpr std::size_t shown_ranks_max = 64;

std::string placements_table(std::vector<RankPlacement> const& ranks, AnswerStyle const& style) {
    Table table({"Rank", "Node", "CPUs", "NUMA Nodes", "NUMA Node of GPU"});
    for (auto const& rank : std::span(ranks).first(std::min(ranks.size(), shown_ranks_max))) {
        table.add({fmt::format("{}", rank.rank), escape_control(rank.host), escape_control(rank.cpus),
                   fmt::format("{}", fmt::join(rank.numa_nodes, ",")),
                   rank.gpu_numa_node ? fmt::format("{}", *rank.gpu_numa_node) : ""});
    }
    auto text = table.render(style);
    if (ranks.size() > shown_ranks_max)
        text += fmt::format("and {} more ranks; --json shows all\n", ranks.size() - shown_ranks_max);
    return text;
}

class TrialDescribe final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the trial", Need::required},
                {"--metrics", &metrics_, "its reports of metrics too"},
                {"--metrics-summary", &summary_, "least, greatest, mean and last value of each metric too"},
                {"--csv", &csv_, "its runs as comma-separated values; with --metrics its metrics"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const id, experiment::require_trial_id(id_));
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(to_string(id.experiment),
                                                   experiment::SlurmAnswer::optional, session));
        DET_TRY_ASSIGN(auto const trial, experiment::require_trial(experiment.view, id));
        std::vector<ShownReport> shown;
        if (metrics_ || summary_) {
            DET_TRY_ASSIGN(shown, load_shown_reports(*experiment.history, id));
        }
        if (csv_) return print_csv(trial, shown, session);
        auto const& spec = experiment.view.record.spec;
        auto const drawn = spec ? hyperparameters_of(experiment.layout, *spec, id.index) : Json::object();
        DET_TRY_ASSIGN(auto const interruptions, load_interruptions(*experiment.history, trial));
        DET_TRY_ASSIGN(auto const reports, experiment.history->load_reports_without_metrics(id));
        auto report = last_report(reports);
        add_alerts(report, trial);
        if (spec) report.progress = tracker::history::progress_of_trial(reports, *spec);
        auto const waits = load_waits(experiment.layout.trial(id.index), trial, session);
        if (session.wants_json()) {
            auto answer = cli::to_json(trial);
            add_report(answer, report);
            answer["waits"] = cli::to_json(waits);
            answer["interruptions"] = Json::array();
            for (auto const& interruption : interruptions)
                answer["interruptions"].push_back(cli::to_json(interruption));
            answer["hyperparameters"] = drawn;
            auto const decisions = tracker::history::decisions_of(trial.record);
            answer["decision"] = decisions.empty() ? Json(nullptr) : Json(decisions.back().decision);
            answer["experiment_id"] = id.experiment.value;
            answer["ends"] = ends_by_cause(trial);
            if (metrics_) answer["metrics"] = reports_json(shown);
            if (summary_) answer["summary_metrics"] = summary_json(shown);
            for (auto& run : answer["runs"]) {
                run["first_failure"] = to_json(first_failure(experiment.layout, {id, run["run"]}, session));
                run["ranks"] = to_json(placements(experiment.layout, id, run["run"], session));
            }
            session.answer(answer);
        } else {
            auto const style = answer_style_of(session);
            session.out << fmt::format(
                "{}Hyperparameters: {}\n{}{}{}{}{}{}{}{}", trial_headline(trial),
                escape_control(describe_hyperparameters(drawn)), report_text(report, style.time),
                straggler_text(waits), ends_text(trial), runs_table(trial, style),
                placements_text(experiment.layout, trial, style, session),
                interruptions_table(interruptions, style),
                last_failure_text(experiment.layout, trial, 20, session), metrics_text(shown, style));
        }
        return ExitCode::done;
    }

private:
    /// One table, so that a program can read it.
    Outcome print_csv(tracker::history::TrialView const& trial, std::vector<ShownReport> const& shown,
                      Session& session) const {
        if (session.wants_json()) return Error{codes::usage, "--csv and --json exclude each other"};
        if (metrics_ && summary_)
            return Error{codes::usage, "with --csv, --metrics and --metrics-summary exclude each other"};
        auto const table = metrics_   ? values_table(shown, {})
                           : summary_ ? summary_table(shown)
                                      : all_runs_table(std::span(&trial, 1));
        session.out << table.render_csv();
        return ExitCode::done;
    }

    std::string metrics_text(std::vector<ShownReport> const& shown, AnswerStyle const& style) const {
        std::string text;
        if (metrics_) text += '\n' + reports_table(shown, {}, style).render(style);
        if (summary_) text += '\n' + summary_table(shown, style.number).render(style);
        return text;
    }

    static std::optional<RankWaitSummary> load_waits(TrialLayout const& layout,
                                                     tracker::history::TrialView const& trial,
                                                     Session const& session) {
        auto summary = load_rank_wait_summary(layout, trial, session.clock.now());
        if (summary) return *std::move(summary);
        session.warn(std::move(summary).error().while_doing("looking for the rank that others wait for"));
        return std::nullopt;
    }

    static std::vector<RankPlacement> placements(ExperimentLayout const& experiment, TrialId id,
                                                 std::uint32_t run, Session const& session) {
        auto found = journal::load_rank_placements(experiment.trial(id.index).run(run));
        if (found) return *std::move(found);
        if (found.error().code != codes::no_such_file)
            session.warn(std::move(found).error().while_doing("looking for the CPUs of the ranks"));
        return {};
    }

    /// The CPUs of the ranks of the last run.
    static std::string placements_text(ExperimentLayout const& experiment,
                                       tracker::history::TrialView const& trial, AnswerStyle const& style,
                                       Session const& session) {
        auto const& runs = trial.record.runs;
        if (runs.empty()) return "";
        auto const ranks =
            placements(experiment, trial.record.id, static_cast<std::uint32_t>(runs.size() - 1), session);
        return ranks.empty() ? "" : "\n" + placements_table(ranks, style);
    }

    static Json to_json(std::vector<RankPlacement> const& ranks) {
        auto answer = Json::array();
        for (auto const& rank : ranks) {
            answer.push_back({{"rank", rank.rank},
                              {"host", rank.host},
                              {"cpus", rank.cpus},
                              {"numa_nodes", rank.numa_nodes},
                              {"gpu_numa_node", json_or_null(rank.gpu_numa_node)}});
        }
        return answer;
    }

    static Json to_json(std::optional<RankFailure> const& failure) {
        if (!failure) return nullptr;
        return {{"time", format_utc(failure->time)},
                {"rank", json_or_null(failure->rank)},
                {"host", failure->host},
                {"exit_code", failure->exit_code},
                {"signal", failure->signal == 0 ? Json(nullptr) : Json(failure->signal)},
                {"setup", failure->setup_failure.empty() ? Json(nullptr) : Json(failure->setup_failure)},
                {"lost_peer", failure->lost_peer.empty() ? Json(nullptr) : Json(failure->lost_peer)},
                {"out_of_memory", failure->was_out_of_memory},
                {"slurmstepd_gone", failure->is_slurmstepd_gone},
                {"last_words", failure->last_output}};
    }

    std::string id_;
    bool metrics_ = false, summary_ = false, csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_trial_describe() { return std::make_unique<TrialDescribe>(); }

}  // namespace det::cli
