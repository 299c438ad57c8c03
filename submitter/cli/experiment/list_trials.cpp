#include <det/experiment/open_experiment.hpp>
#include <det/protocol/json.hpp>

#include <ostream>

#include "command.hpp"
#include "output/table.hpp"
#include "output/trial_text.hpp"
#include "output/view_json.hpp"

namespace det::cli {
namespace {

class ExperimentListTrials final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--csv", &csv_, "print comma-separated values"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const experiment, experiment::open_experiment(id_, session));
        if (session.wants_json()) {
            session.answer(as_json(experiment.view));
        } else {
            auto const table = as_table(experiment.view);
            session.out << (csv_ ? table.render_csv() : table.render());
        }
        return ExitCode::done;
    }

private:
    static Json as_json(tracker::history::ExperimentView const& view) {
        auto answer = to_json(view)["trials"];
        for (std::size_t i = 0; i < answer.size() && view.record.spec; ++i)
            answer[i]["hyperparameters"] =
                hyperparameters_of(*view.record.spec, static_cast<std::uint32_t>(i));
        return answer;
    }

    static Table as_table(tracker::history::ExperimentView const& view) {
        Table table({"Trial ID", "State", "Runs", "Started", "Ended", "H-Params"});
        for (auto const& trial : view.trials) {
            auto const& spec = view.record.spec;
            auto const drawn = spec ? hyperparameters_of(*spec, trial.record.id.index) : Json::object();
            table.add({to_string(trial.record.id), std::string(to_string(trial.state)),
                       std::to_string(trial.record.runs.size()), short_time(trial.started()),
                       short_time(trial.ended()), describe_hyperparameters(drawn)});
        }
        return table;
    }

    std::string id_;
    bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_list_trials() { return std::make_unique<ExperimentListTrials>(); }

}  // namespace det::cli
