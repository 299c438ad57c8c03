
#include <det/experiment/control_experiment.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "experiment/accept_damage_option.hpp"

namespace det::cli {
namespace {

class ExperimentPause final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required}, accept_damage_option(&accepts_damage_)};
    }

    Outcome run(Session& session) override {
        if (accepts_damage_) DET_TRY(experiment::accept_journal_damage(id_, session));
        DET_TRY_ASSIGN(auto const id, experiment::pause_experiment(id_, session));
        session.print_confirmation(Json{{"id", id.value}, {"desired", "pause"}},
                                   fmt::format("Paused experiment {}", id.value));
        return ExitCode::done;
    }

private:
    std::string id_;
    bool accepts_damage_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_pause() { return std::make_unique<ExperimentPause>(); }

}  // namespace det::cli
