
#include <det/experiment/control_experiment.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class TrialKill final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the trial", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const id, experiment::kill_trial(id_, session));
        session.print_confirmation(Json{{"id", to_integer(id)}, {"name", to_string(id)}, {"desired", "kill"}},
                                   fmt::format("Killed trial {}", to_string(id)));
        return ExitCode::done;
    }

private:
    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_trial_kill() { return std::make_unique<TrialKill>(); }

}  // namespace det::cli
