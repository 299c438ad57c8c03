// experiment gc, experiment set gc-policy.
#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/text.hpp>
#include <det/retention/collect_garbage.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "open_experiment.hpp"
#include "table.hpp"
#include "views.hpp"

namespace det::cli {
namespace {

using retention::Act;
using retention::GcPolicy;
using retention::GcReport;
using retention::KnownCheckpoint;

Result<GcReport> collect(OpenExperiment const& experiment, GcPolicy const& policy, Act act,
                         Session& session) {
    auto const& view = experiment.view;
    if (!view.record.spec) {
        return Error{codes::wrong_state,
                     fmt::format("experiment {} is being created", experiment.id().value)};
    }
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(*view.record.spec, session.environment));
    retention::GcOptions options{policy, session.clock.now(), act};
    options.is_over = [&](std::uint32_t trial) {
        return trial < view.trials.size() && lifecycle::is_terminal(view.trials[trial].state);
    };
    return collect_garbage(experiment.root, experiment.layout, *store, options);
}

Json list_json(ExperimentId id, std::vector<KnownCheckpoint> const& checkpoints) {
    auto list = Json::array();
    for (auto const& c : checkpoints) {
        list.push_back({{"uuid", c.uuid},
                        {"trial", to_string(TrialId{id, c.trial})},
                        {"steps_completed", c.steps_completed},
                        {"metric", c.metric ? Json(*c.metric) : Json(nullptr)},
                        {"size_bytes", c.size_bytes}});
    }
    return list;
}

Json remains_json(ExperimentId id, std::vector<retention::Remains> const& remains) {
    auto list = Json::array();
    for (auto const& each : remains)
        list.push_back(
            {{"uuid", each.uuid}, {"trial", to_string(TrialId{id, each.trial})}, {"run", each.run}});
    return list;
}

Json as_json(ExperimentId id, GcPolicy const& policy, GcReport const& report, Act act) {
    return {{"id", id.value},
            {"policy", retention::to_json(policy)},
            {"dry_run", act == Act::only_say},
            {"kept", list_json(id, report.kept)},
            {"removed", list_json(id, report.removed)},
            {"remains", remains_json(id, report.remains)}};
}

std::string as_table(ExperimentId id, std::vector<KnownCheckpoint> const& checkpoints) {
    Table table({"Trial", "Steps", "Metric", "Size", "UUID"});
    for (auto const& c : checkpoints) {
        table.add({to_string(TrialId{id, c.trial}), std::to_string(c.steps_completed),
                   c.metric ? fmt::format("{:.6g}", *c.metric) : "", format_size(c.size_bytes), c.uuid});
    }
    return table.render();
}

Status first_failure(GcReport const& report) {
    if (report.failures.empty()) return Ok{};
    return Error(report.failures.front())
        .noting(fmt::format("{} checkpoints could not be removed", report.failures.size()));
}

class ExperimentGc final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--dry-run", &only_says_, "only say what would be removed"}};
    }

    Outcome run(Session& session) override {
        DET_TRY(collect_and_tell(session));
        return ExitCode::done;
    }

private:
    Status collect_and_tell(Session& session) const {
        DET_TRY_ASSIGN(auto const experiment, open_experiment(id_, session));
        auto const& record = experiment.view.record;
        auto const policy = record.spec ? retention::policy_of(*record.spec, record.events) : GcPolicy{};
        auto const act = only_says_ ? Act::only_say : Act::remove;
        DET_TRY_ASSIGN(auto const report, collect(experiment, policy, act, session));
        if (session.wants_json()) {
            session.answer(as_json(record.id, policy, report, act));
        } else {
            session.out << as_table(record.id, report.removed);
            session.say(fmt::format("{} {} checkpoints, kept {}", only_says_ ? "Would remove" : "Removed",
                                    report.removed.size(), report.kept.size()));
            for (auto const& each : report.remains) {
                session.say(fmt::format("{} the remains of {}, which run {}.{} did not commit",
                                        only_says_ ? "Would remove" : "Removed", each.uuid,
                                        to_string(TrialId{record.id, each.trial}), each.run));
            }
        }
        return first_failure(report);
    }

    std::string id_;
    bool only_says_ = false;
};

class ExperimentSetGcPolicy final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--save-experiment-best", &experiment_best_, "so many of the whole experiment"},
                {"--save-trial-best", &trial_best_, "so many of each trial"},
                {"--save-trial-latest", &trial_latest_, "so many of each trial"},
                {"-y,--yes", &is_sure_, "do it, even if checkpoints are removed"}};
    }

    Outcome run(Session& session) override {
        DET_TRY(set(session));
        return ExitCode::done;
    }

private:
    Status set(Session& session) const {
        DET_TRY_ASSIGN(auto const experiment, open_experiment(id_, session));
        auto const& record = experiment.view.record;
        auto policy = record.spec ? retention::policy_of(*record.spec, record.events) : GcPolicy{};
        if (experiment_best_) policy.save_experiment_best = *experiment_best_;
        if (trial_best_) policy.save_trial_best = *trial_best_;
        if (trial_latest_) policy.save_trial_latest = *trial_latest_;
        DET_TRY_ASSIGN(auto report, collect(experiment, policy, Act::only_say, session));
        if (!report.removed.empty() && !is_sure_) {
            session.err << as_table(record.id, report.removed);
            return Error{codes::usage, fmt::format("{} checkpoints would be removed", report.removed.size()),
                         "add --yes to do it: it can't be undone"};
        }
        DET_TRY(record_event(experiment, retention::gc_policy_event, retention::to_json(policy), session));
        DET_TRY_ASSIGN(report, collect(experiment, policy, Act::remove, session));
        if (session.wants_json()) {
            session.answer(as_json(record.id, policy, report, Act::remove));
        } else {
            session.say(fmt::format("Set the policy of experiment {}, removed {} checkpoints",
                                    record.id.value, report.removed.size()));
        }
        return first_failure(report);
    }

    std::string id_;
    std::optional<std::uint32_t> experiment_best_, trial_best_, trial_latest_;
    bool is_sure_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_gc() { return std::make_unique<ExperimentGc>(); }
std::unique_ptr<Command> make_experiment_set_gc_policy() { return std::make_unique<ExperimentSetGcPolicy>(); }

}  // namespace det::cli
