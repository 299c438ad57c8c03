#include <det/experiment/open_experiment.hpp>

#include "command.hpp"
#include "job/move_jobs.hpp"
#include "output/load_interruptions.hpp"

namespace det::cli {
namespace {

/// The command `job update exp-ID --priority N` under the name that Determined uses.
class ExperimentSetPriority final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"priority", &priority_, "1 (most urgent) to 99", Need::required},
                {"--dry-run", &update_.is_dry_run, "show the moves, make none"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        return move_jobs({{"exp-" + to_string(id), "priority", priority_}}, update_, session);
    }

private:
    std::string id_, priority_;
    MoveOptions update_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_set_priority() { return std::make_unique<ExperimentSetPriority>(); }

}  // namespace det::cli
