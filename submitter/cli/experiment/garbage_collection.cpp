// The commands that remove the checkpoints which an experiment's policy does not keep.
#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/control_experiment.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/retention/collect_garbage.hpp>
#include <det/retention/expired_logs.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/accept_damage_option.hpp"
#include "output/table.hpp"

namespace det::cli {
namespace {

using retention::GcMode;
using retention::GcPolicy;
using retention::GcReport;
using retention::KnownCheckpoint;

Json list_json(ExperimentId id, std::vector<KnownCheckpoint> const& checkpoints) {
    auto list = Json::array();
    for (auto const& c : checkpoints) {
        list.push_back({{"uuid", c.uuid},
                        {"trial", to_string(TrialId{id, c.trial})},
                        {"steps_completed", c.steps_completed},
                        {"metric", json_or_null(c.metric)},
                        {"size_bytes", c.size_bytes}});
    }
    return list;
}

Json uncommitted_json(ExperimentId id, std::vector<retention::UncommittedCheckpoint> const& checkpoints) {
    auto list = Json::array();
    for (auto const& each : checkpoints)
        list.push_back(
            {{"uuid", each.uuid}, {"trial", to_string(TrialId{id, each.trial})}, {"run", each.run}});
    return list;
}

/// Removes the checkpoints that `policy` does not keep, or only lists them (GcMode::dry_run). Keeps the
/// checkpoints from which trials that have not ended may resume.
Result<GcReport> collect_garbage(experiment::OpenExperiment const& experiment, GcPolicy const& policy,
                                 GcMode mode, Session& session) {
    auto const& view = experiment.view;
    if (!view.record.spec) {
        return Error{codes::wrong_state,
                     fmt::format("experiment {} is being created", experiment.id().value)};
    }
    DET_TRY(experiment::require_trusted_experiment(experiment, session));
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(*view.record.spec, session.environment));
    retention::GcOptions options{policy, session.clock.now(), mode};
    options.is_over = [&](std::uint32_t trial) {
        return trial < view.trials.size() && lifecycle::is_terminal(view.trials[trial].state);
    };
    return retention::collect_garbage(experiment.root, experiment.layout, *store, options);
}

Json to_json(ExperimentId id, GcPolicy const& policy, GcReport const& report, GcMode mode) {
    return {{"id", id.value},
            {"policy", retention::to_json(policy)},
            {"dry_run", mode == GcMode::dry_run},
            {"kept", list_json(id, report.kept)},
            {"removed", list_json(id, report.removed)},
            {"remains", uncommitted_json(id, report.uncommitted)}};
}

std::string render_checkpoints(ExperimentId id, std::vector<KnownCheckpoint> const& checkpoints,
                               AnswerStyle const& style) {
    Table table({"Trial", "Steps", "Metric", "Size", "UUID"});
    for (auto const& c : checkpoints) {
        table.add({to_string(TrialId{id, c.trial}), std::to_string(c.steps_completed),
                   c.metric ? style.number(*c.metric) : "", format_size(c.size_bytes), c.uuid});
    }
    return table.render(style);
}

/// Returns the error of the first checkpoint that could not be removed; Ok if there is none.
Status first_failure(GcReport const& report) {
    if (report.failures.empty()) return Ok{};
    return Error(report.failures.front())
        .noting(count_text(report.failures.size(), "checkpoint") + " could not be removed");
}

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
            session.out << render_checkpoints(record.id, report.removed, answer_style_of(session));
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
            session.err << render_checkpoints(record.id, report.removed, answer_style_of(session));
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

class ExperimentSetLogRetention final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--days", &days_, "days after the last line of a log", Need::optional, {}, {{0, days_max}}},
                {"--forever", &forever_, "keep the logs"}};
    }

    Outcome run(Session& session) override {
        if (days_.has_value() == forever_)
            return Error{codes::usage, "exactly one of --days and --forever is needed",
                         "see 'det-submit experiment set log-retention --help'"};
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        Json body{{"log_retention_days", days_.value_or(-1)}};
        DET_TRY(experiment::record_event(experiment, retention::log_retention_event, body, session));
        body["id"] = experiment.id().value;
        session.print_confirmation(
            body, fmt::format(
                      "The logs of experiment {} are kept {}", experiment.id().value,
                      forever_ ? "for ever" : "for " + count_text(static_cast<std::size_t>(*days_), "day")));
        return ExitCode::done;
    }

private:
    static constexpr int days_max = 32767;  // of Determined
    std::string id_;
    std::optional<int> days_;
    bool forever_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_gc() { return std::make_unique<ExperimentGc>(); }
std::unique_ptr<Command> make_experiment_set_log_retention() {
    return std::make_unique<ExperimentSetLogRetention>();
}
std::unique_ptr<Command> make_experiment_set_gc_policy() { return std::make_unique<ExperimentSetGcPolicy>(); }

}  // namespace det::cli
