#include <det/experiment/control_experiment.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "experiment/accept_damage_option.hpp"

namespace det::cli {
namespace {

class ExperimentDelete final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"-y,--yes", &is_sure_, "remove it without a question"},
                accept_damage_option(&accepts_damage_)};
    }

    Outcome run(Session& session) override {
        if (accepts_damage_) DET_TRY(experiment::accept_journal_damage(id_, session));
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::required, session));
        DET_TRY(check_deletable(experiment));
        auto const id = experiment.id().value;
        DET_TRY_ASSIGN(bool const goes_on,
                       session.confirm_removal(
                           is_sure_, fmt::format("experiment {}, its checkpoints, metrics and logs", id)));
        if (!goes_on) return ExitCode::could_not;
        DET_TRY_ASSIGN(auto const kept, delete_experiment(experiment, session));
        session.print_confirmation(Json{{"id", id}, {"kept_checkpoints", kept}},
                                   fmt::format("Deleted experiment {}", id));
        return ExitCode::done;
    }

private:
    std::string id_;
    bool accepts_damage_ = false;
    bool is_sure_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_delete() { return std::make_unique<ExperimentDelete>(); }

}  // namespace det::cli
