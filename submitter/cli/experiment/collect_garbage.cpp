#include "experiment/collect_garbage.hpp"

#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "output/table.hpp"

namespace det::cli {

using retention::GcMode;
using retention::GcPolicy;
using retention::GcReport;
using retention::KnownCheckpoint;

namespace {

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

Json uncommitted_json(ExperimentId id, std::vector<retention::UncommittedCheckpoint> const& checkpoints) {
    auto list = Json::array();
    for (auto const& each : checkpoints)
        list.push_back(
            {{"uuid", each.uuid}, {"trial", to_string(TrialId{id, each.trial})}, {"run", each.run}});
    return list;
}

}  // namespace

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

std::string render_checkpoints(ExperimentId id, std::vector<KnownCheckpoint> const& checkpoints) {
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
        .noting(count_text(report.failures.size(), "checkpoint") + " could not be removed");
}

}  // namespace det::cli
