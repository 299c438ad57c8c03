#include <det/foundation/text.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/retention/list_checkpoints.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/ranked_trials.hpp"
#include "output/table.hpp"
#include "output/trial_text.hpp"

namespace det::cli {
namespace {

using retention::CommittedCheckpoint;

/// The checkpoint of the trial that validated best, else its last one. Null if it has none.
CommittedCheckpoint const* find_checkpoint(std::vector<CommittedCheckpoint> const& checkpoints,
                                           std::uint32_t trial, bool smaller_is_better) {
    CommittedCheckpoint const* best = nullptr;
    for (auto const& checkpoint : checkpoints) {
        if (checkpoint.trial != trial) continue;
        bool const is_preferred =
            best == nullptr || !best->metric ||
            (checkpoint.metric && is_better(*checkpoint.metric, *best->metric, smaller_is_better));
        if (is_preferred) best = &checkpoint;
    }
    return best;
}

class ExperimentBest final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"-n,--trials", &count_, "how many trials", Need::optional, {}, {{1, 1'000'000}}},
                {"--csv", &csv_, "print comma-separated values"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        auto const& spec = experiment.view.record.spec;
        if (!spec) {
            return Error{codes::wrong_state,
                         fmt::format("experiment {} has no trials: its creation was interrupted",
                                     experiment.id().value)};
        }
        DET_TRY_ASSIGN(auto trials, rank_trials(experiment.view, *experiment.history));
        if (trials.size() > static_cast<std::size_t>(count_)) trials.resize(static_cast<std::size_t>(count_));
        DET_TRY_ASSIGN(auto const checkpoints, retention::list_committed(experiment.layout, *spec, nullptr));
        if (session.wants_json()) {
            session.answer(as_json(trials, checkpoints, *spec, experiment.layout));
        } else {
            auto const table =
                as_table(trials, checkpoints, *spec, experiment.layout, answer_style_of(session, csv_));
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
        }
        return ExitCode::done;
    }

private:
    static Json as_json(std::vector<RankedTrial> const& trials,
                        std::vector<CommittedCheckpoint> const& checkpoints, ExperimentSpec const& spec,
                        ExperimentLayout const& layout) {
        auto answer = Json::array();
        for (auto const& [view, validation] : trials) {
            auto const id = view->record.id;
            auto const* const checkpoint =
                find_checkpoint(checkpoints, id.index, spec.searcher.smaller_is_better);
            Json json{{"id", to_integer(id)},
                      {"name", to_string(id)},
                      {"state", to_string(view->state)},
                      {"metric", spec.searcher.metric},
                      {"value", validation.value},
                      {"steps_completed", validation.steps_completed},
                      {"hyperparameters", hyperparameters_of(layout, spec, id.index)},
                      {"checkpoint", nullptr}};
            if (checkpoint != nullptr) {
                json["checkpoint"] = {{"uuid", checkpoint->committed.uuid},
                                      {"steps_completed", checkpoint->committed.steps_completed},
                                      {"metric", json_or_null(checkpoint->metric)}};
            }
            answer.push_back(std::move(json));
        }
        return answer;
    }

    static Table as_table(std::vector<RankedTrial> const& trials,
                          std::vector<CommittedCheckpoint> const& checkpoints, ExperimentSpec const& spec,
                          ExperimentLayout const& layout, AnswerStyle const& style) {
        Table table({"Trial ID", "State", spec.searcher.metric, "Steps", "Checkpoint", "At Step", "H-Params"},
                    {"State", "At Step", "Steps"});
        for (auto const& [view, validation] : trials) {
            auto const id = view->record.id;
            auto const* const checkpoint =
                find_checkpoint(checkpoints, id.index, spec.searcher.smaller_is_better);
            table.add({to_string(id), std::string(to_string(view->state)), style.number(validation.value),
                       std::to_string(validation.steps_completed),
                       checkpoint != nullptr ? checkpoint->committed.uuid : "",
                       checkpoint != nullptr ? std::to_string(checkpoint->committed.steps_completed) : "",
                       describe_hyperparameters(hyperparameters_of(layout, spec, id.index))});
        }
        return table;
    }

    std::string id_;
    int count_ = 5;
    bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_best() { return std::make_unique<ExperimentBest>(); }

}  // namespace det::cli
