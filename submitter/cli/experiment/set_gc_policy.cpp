#include <det/experiment/open_experiment.hpp>
#include <det/foundation/count_text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/collect_garbage.hpp"

namespace det::cli {
namespace {

using retention::GcMode;
using retention::GcPolicy;

class ExperimentSetGcPolicy final : public Command {
public:
    std::vector<Option> options() override {
        return {
            {"id", &id_, "the experiment", Need::required},
            {"--save-experiment-best", &experiment_best_, "number of checkpoints of the experiment to keep"},
            {"--save-trial-best", &trial_best_, "number of checkpoints of each trial to keep"},
            {"--save-trial-latest", &trial_latest_, "number of checkpoints of each trial to keep"},
            {"-y,--yes", &is_sure_, "apply it without a question, also if checkpoints are removed"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        auto const& record = experiment.view.record;
        auto policy = record.spec ? retention::policy_of(*record.spec, record.events) : GcPolicy{};
        if (experiment_best_) policy.save_experiment_best = *experiment_best_;
        if (trial_best_) policy.save_trial_best = *trial_best_;
        if (trial_latest_) policy.save_trial_latest = *trial_latest_;
        DET_TRY_ASSIGN(auto report, collect_garbage(experiment, policy, GcMode::dry_run, session));
        if (!report.removed.empty() && !is_sure_) {
            session.err << render_checkpoints(record.id, report.removed);
            DET_TRY_ASSIGN(
                bool const goes_on,
                session.confirm_removal(is_sure_, count_text(report.removed.size(), "checkpoint")));
            if (!goes_on) return ExitCode::could_not;
        }
        DET_TRY(experiment::record_event(experiment, retention::gc_policy_event, retention::to_json(policy),
                                         session));
        DET_TRY_ASSIGN(report, collect_garbage(experiment, policy, GcMode::remove, session));
        session.print_confirmation(to_json(record.id, policy, report, GcMode::remove),
                                   fmt::format("Set the policy of experiment {}, removed {}", record.id.value,
                                               count_text(report.removed.size(), "checkpoint")));
        DET_TRY(first_failure(report));
        return ExitCode::done;
    }

private:
    std::string id_;
    std::optional<std::uint32_t> experiment_best_, trial_best_, trial_latest_;
    bool is_sure_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_set_gc_policy() { return std::make_unique<ExperimentSetGcPolicy>(); }

}  // namespace det::cli
