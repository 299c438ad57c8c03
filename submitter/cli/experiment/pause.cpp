
#include <det/experiment/control_experiment.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class ExperimentPause final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the experiment", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const id, experiment::pause_experiment(id_, session));
        session.print_confirmation(Json{{"id", id.value}, {"desired", "pause"}},
                                   fmt::format("Paused experiment {}", id.value));
        return ExitCode::done;
    }

private:
    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_pause() { return std::make_unique<ExperimentPause>(); }

}  // namespace det::cli
