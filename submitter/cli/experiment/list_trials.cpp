#include <det/experiment/open_experiment.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/sampler/load_draw.hpp>
#include <det/search/asha.hpp>
#include <det/search/search.hpp>
#include <det/tracker/history/progress.hpp>
#include <det/tracker/history/search_view.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "output/load_interruptions.hpp"
#include "output/table.hpp"
#include "output/trial_text.hpp"

namespace det::cli {
namespace {

/// A trial and what its search knows about it.
struct TrialRow {
    tracker::history::TrialView const* view;
    std::optional<journal::BestValidation> best = {};
    std::optional<SearchDecision> last_decision = {};
    std::optional<double> progress = {};  // of a trial that has begun and has not ended
    Json hyperparameters = Json::object();
};

/// Orders rows by their best value, trials without one last.
void sort_by_metric(std::vector<TrialRow>& rows, bool smaller_is_better) {
    std::ranges::stable_sort(rows, [&](auto const& a, auto const& b) {
        if (!a.best || !b.best) return a.best && !b.best;
        return is_better(a.best->value, b.best->value, smaller_is_better);
    });
}

class ExperimentListTrials final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--by-metric", &by_metric_, "the best trial first"},
                {"--csv", &csv_, "print comma-separated values"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        DET_TRY_ASSIGN(auto const rows, load_rows(experiment));
        auto const& spec = experiment.view.record.spec;
        if (session.wants_json()) {
            session.answer(as_json(rows, spec));
        } else {
            auto const table = as_table(rows, spec, answer_style_of(session, csv_));
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
        }
        return ExitCode::done;
    }

private:
    Result<std::vector<TrialRow>> load_rows(experiment::OpenExperiment const& experiment) const {
        auto const& spec = experiment.view.record.spec;
        auto const& trials = experiment.view.trials;
        auto const count = static_cast<std::uint32_t>(spec ? trials.size() : 0);
        std::vector<TrialRow> rows;
        for (auto const& trial : trials) rows.push_back({&trial});
        if (!spec) return rows;
        DET_TRY_ASSIGN(auto const bests,
                       experiment.history->list_best_validations(experiment.id(), count, *spec));
        DET_TRY_ASSIGN(auto const draws, sampler::load_draws(experiment.layout, *spec, count));
        for (std::uint32_t i = 0; i < count; ++i) {
            auto const& trial = trials[i];
            auto& row = rows[i];
            row.best = bests[i];
            if (i < draws.size()) row.hyperparameters = draws[i].hyperparameters;
            auto const decisions = tracker::history::decisions_of(trial.record);
            if (!decisions.empty()) row.last_decision = decisions.back();
            if (trial.record.runs.empty() || lifecycle::is_terminal(trial.state)) continue;
            DET_TRY_ASSIGN(auto const reports,
                           experiment.history->load_reports_without_metrics(trial.record.id));
            row.progress = tracker::history::progress_of_trial(reports, *spec);
        }
        if (by_metric_ && spec) sort_by_metric(rows, spec->searcher.smaller_is_better);
        return rows;
    }

    static Json as_json(std::vector<TrialRow> const& rows, std::optional<ExperimentSpec> const& spec) {
        auto answer = Json::array();
        for (auto const& row : rows) {
            auto json = to_json(*row.view);
            if (spec) json["hyperparameters"] = row.hyperparameters;
            json["best_validation"] = nullptr;
            if (row.best)
                json["best_validation"] = {{"value", row.best->value},
                                           {"steps_completed", row.best->steps_completed}};
            json["bracket"] = row.last_decision ? Json(row.last_decision->bracket) : Json(nullptr);
            json["decision"] = row.last_decision ? Json(row.last_decision->decision) : Json(nullptr);
            json["progress"] = json_or_null(row.progress);
            json["rung"] = row.last_decision ? Json(row.last_decision->rung) : Json(nullptr);
            answer.push_back(std::move(json));
        }
        return answer;
    }

    static Table as_table(std::vector<TrialRow> const& rows, std::optional<ExperimentSpec> const& spec,
                          AnswerStyle const& style) {
        bool const has_rungs = spec && search::is_asha(spec->searcher.name);
        std::vector<std::string> header{"Trial ID", "State", "Runs", "Started", "Ended"};
        if (has_rungs) header.insert(header.end(), {"Bracket", "Rung"});
        header.insert(header.end(),
                      {spec ? "Best " + escape_control(spec->searcher.metric) : "Best", "H-Params"});
        Table table(std::move(header), {"Bracket", "Runs", "Ended", "Started", "Rung"});
        for (auto const& row : rows) {
            auto const& trial = *row.view;
            std::vector<std::string> cells{to_string(trial.record.id), std::string(to_string(trial.state)),
                                           std::to_string(trial.record.runs.size()),
                                           style.time(trial.started()), style.time(trial.ended())};
            if (has_rungs) {
                cells.push_back(row.last_decision ? std::to_string(row.last_decision->bracket) : "");
                cells.push_back(row.last_decision ? std::to_string(row.last_decision->rung) : "");
            }
            cells.push_back(row.best ? style.number(row.best->value) : "");
            cells.push_back(describe_hyperparameters(row.hyperparameters, style.number));
            table.add(std::move(cells));
        }
        return table;
    }

    std::string id_;
    bool by_metric_ = false;
    bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_list_trials() { return std::make_unique<ExperimentListTrials>(); }

}  // namespace det::cli
