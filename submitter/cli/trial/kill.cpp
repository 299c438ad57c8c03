#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "experiment/end_experiment.hpp"
#include "output/views.hpp"

namespace det::cli {
namespace {

class TrialKill final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the trial", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY(end(session));
        return ExitCode::done;
    }

private:
    Status end(Session& session) const {
        DET_TRY_ASSIGN(auto const id, require_trial_id(id_));
        DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(to_string(id.experiment), session));
        auto const& view = experiment.view;
        DET_TRY_ASSIGN(auto const trial, require_trial(view, id));
        if (lifecycle::is_terminal(trial.state)) {
            return Error{codes::wrong_state,
                         fmt::format("trial {} has ended: it is {}", to_string(id), to_string(trial.state))};
        }
        auto const layout = experiment.layout.trial(id.index);
        DET_TRY(make_directories(layout.path()));
        DET_TRY(record_desired_end(layout.desired(), Desired::kill));
        DET_TRY(tell_jobs(plan_kill(view.record, trial), session.slurm));
        if (session.wants_json()) {
            session.answer(Json{{"id", to_integer(id)}, {"name", to_string(id)}, {"desired", "kill"}});
        } else {
            session.say(fmt::format("Killed trial {}", to_string(id)));
        }
        return Ok{};
    }

    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_trial_kill() { return std::make_unique<TrialKill>(); }

}  // namespace det::cli
