#include <det/experiment/open_experiment.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/collect_garbage.hpp"

namespace det::cli {
namespace {

using retention::GcMode;
using retention::GcPolicy;

class ExperimentGc final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--dry-run", &is_dry_run_, "only list what would be removed"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        auto const& record = experiment.view.record;
        auto const policy = record.spec ? retention::policy_of(*record.spec, record.events) : GcPolicy{};
        auto const mode = is_dry_run_ ? GcMode::dry_run : GcMode::remove;
        DET_TRY_ASSIGN(auto const report, collect_garbage(experiment, policy, mode, session));
        if (session.wants_json()) {
            session.answer(to_json(record.id, policy, report, mode));
        } else {
            session.out << render_checkpoints(record.id, report.removed);
            session.say(fmt::format("{} {} checkpoints, kept {}", is_dry_run_ ? "Would remove" : "Removed",
                                    report.removed.size(), report.kept.size()));
            for (auto const& each : report.uncommitted) {
                session.say(fmt::format("{} the files of {}, which run {}.{} did not commit",
                                        is_dry_run_ ? "Would remove" : "Removed", each.uuid,
                                        to_string(TrialId{record.id, each.trial}), each.run));
            }
        }
        DET_TRY(first_failure(report));
        return ExitCode::done;
    }

private:
    std::string id_;
    bool is_dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_gc() { return std::make_unique<ExperimentGc>(); }

}  // namespace det::cli
