#include "checkpoint/removable_checkpoints.hpp"

#include <det/retention/collect_garbage.hpp>

#include <fmt/format.h>

#include "open_experiment.hpp"
#include "root.hpp"

namespace det::cli {
namespace {

/// The trial that committed it: the run "7.3.2" without its last part.
std::optional<TrialId> trial_of(CheckpointManifest const& manifest) {
    return parse_trial_id(manifest.run.substr(0, manifest.run.rfind('.')));
}

/// codes::wrong_state where the trial may still run and has nothing else to go on from.
Status check_not_needed(FoundCheckpoint const& checkpoint, Session& session) {
    auto const trial = trial_of(checkpoint.manifest);
    if (!trial) return Ok{};
    auto const experiment = open_experiment(to_string(trial->experiment), session);
    if (!experiment && experiment.error().code == codes::no_such_experiment) return Ok{};
    if (!experiment) return experiment.error();
    auto const& trials = experiment->view.trials;
    if (trial->index >= trials.size() || lifecycle::is_terminal(trials[trial->index].state)) return Ok{};
    DET_TRY_ASSIGN(auto const known,
                   retention::list_stored_checkpoints(experiment->layout, *experiment->view.record.spec,
                                                      *checkpoint.store));
    DET_TRY_ASSIGN(auto const latest, retention::find_latest_valid(known, trial->index, *checkpoint.store));
    if (latest != checkpoint.manifest.uuid) return Ok{};
    return Error{codes::wrong_state,
                 fmt::format("trial {} may still run, and checkpoint {} is what it goes on from",
                             to_string(*trial), checkpoint.manifest.uuid),
                 fmt::format("end it first with 'det-submit trial kill {}'", to_string(*trial))};
}

}  // namespace

Result<std::vector<FoundCheckpoint>> find_removable(std::vector<std::string> const& uuids, Session& session) {
    DET_TRY_ASSIGN(auto const root, find_root(session.environment));
    std::vector<FoundCheckpoint> found;
    for (auto const& uuid : uuids) {
        DET_TRY_ASSIGN(auto checkpoint, find_checkpoint(root, uuid, session.environment));
        DET_TRY(check_not_needed(checkpoint, session));
        found.push_back(std::move(checkpoint));
    }
    return found;
}

Error unconfirmed(std::string what) {
    return {codes::usage, std::move(what), "add --yes to do it: it can't be undone"};
}

}  // namespace det::cli
