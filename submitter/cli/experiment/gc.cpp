#include <det/experiment/control_experiment.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/foundation/count_text.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/expired_logs.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/accept_damage_option.hpp"
#include "experiment/collect_garbage.hpp"

namespace det::cli {
namespace {

using retention::GcMode;
using retention::GcPolicy;

class ExperimentGc final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--dry-run", &is_dry_run_, "only list what would be removed"},
                accept_damage_option(&accepts_damage_)};
    }

    Outcome run(Session& session) override {
        if (accepts_damage_) DET_TRY(experiment::accept_journal_damage(id_, session));
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        auto const& record = experiment.view.record;
        auto const policy = record.spec ? retention::policy_of(*record.spec, record.events) : GcPolicy{};
        auto const mode = is_dry_run_ ? GcMode::dry_run : GcMode::remove;
        DET_TRY_ASSIGN(auto const report, collect_garbage(experiment, policy, mode, session));
        DET_TRY_ASSIGN(auto const logs, remove_logs(experiment, mode, session));
        if (session.wants_json()) {
            auto answer = to_json(record.id, policy, report, mode);
            if (!logs.empty()) answer["removed_logs"] = logs.size();
            session.answer(answer);
        } else {
            session.out << render_checkpoints(record.id, report.removed);
            session.say(fmt::format("{} {}, kept {}", is_dry_run_ ? "Would remove" : "Removed",
                                    count_text(report.removed.size(), "checkpoint"), report.kept.size()));
            for (auto const& each : report.uncommitted) {
                session.say(fmt::format("{} the files of {}, which run {}.{} did not commit",
                                        is_dry_run_ ? "Would remove" : "Removed", each.uuid,
                                        to_string(TrialId{record.id, each.trial}), each.run));
            }
        }
        if (!logs.empty() && !session.wants_json())
            session.say(fmt::format("{} {} logs", is_dry_run_ ? "Would remove" : "Removed", logs.size()));
        DET_TRY(first_failure(report));
        return ExitCode::done;
    }

private:
    static Result<std::vector<std::filesystem::path>> remove_logs(
        experiment::OpenExperiment const& experiment, GcMode mode, Session& session) {
        auto const& spec = experiment.view.record.spec;
        if (!spec) return std::vector<std::filesystem::path>();
        return retention::remove_expired_logs(experiment.layout, *spec, session.clock.now(), mode);
    }

    std::string id_;
    bool accepts_damage_ = false;
    bool is_dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_gc() { return std::make_unique<ExperimentGc>(); }

}  // namespace det::cli
