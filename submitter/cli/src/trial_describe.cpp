#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "hyperparameters.hpp"
#include "open_experiment.hpp"
#include "trial_text.hpp"
#include "views.hpp"

namespace det::cli {
namespace {

class TrialDescribe final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the trial", Need::required}}; }

    Outcome run(Session& session) override {
        if (auto const described = describe(session); !described) return Diagnostics(described.error());
        return ExitCode::done;
    }

private:
    Status describe(Session& session) const {
        DET_TRY_ASSIGN(auto const id, require_trial_id(id_));
        DET_TRY_ASSIGN(auto const experiment, open_experiment(to_string(id.experiment), session));
        DET_TRY_ASSIGN(auto const trial, require_trial(experiment.view, id));
        auto const& spec = experiment.view.record.spec;
        auto const drawn = spec ? hyperparameters_of(*spec, id.index) : Json::object();
        if (session.wants_json()) {
            auto answer = to_json(trial);
            answer["hyperparameters"] = drawn;
            answer["experiment_id"] = id.experiment.value;
            session.answer(answer);
        } else {
            session.out << fmt::format("{}Hyperparameters: {}\n{}", trial_headline(trial),
                                       escape_control(describe_hyperparameters(drawn)), runs_table(trial));
        }
        return Ok{};
    }

    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_trial_describe() { return std::make_unique<TrialDescribe>(); }

}  // namespace det::cli
