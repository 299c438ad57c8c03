// checkpoint delete, checkpoint rm.
#include <det/retention/collect_garbage.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>
#include <ostream>

#include "checkpoint_files.hpp"
#include "command.hpp"
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
    DET_TRY_ASSIGN(
        auto const known,
        retention::take_inventory(experiment->layout, *experiment->view.record.spec, *checkpoint.store));
    DET_TRY_ASSIGN(auto const lifeline, retention::find_lifeline(known, trial->index, *checkpoint.store));
    if (lifeline != checkpoint.manifest.uuid) return Ok{};
    return Error{codes::wrong_state,
                 fmt::format("trial {} may still run, and checkpoint {} is what it goes on from",
                             to_string(*trial), checkpoint.manifest.uuid),
                 fmt::format("end it first with 'det-submit trial kill {}'", to_string(*trial))};
}

Result<std::vector<FoundCheckpoint>> find_all(std::vector<std::string> const& uuids, Session& session) {
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

class CheckpointDelete final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuids", &uuids_, "the checkpoints", Need::required},
                {"-y,--yes", &is_sure_, "do it: without, nothing is removed"}};
    }

    Outcome run(Session& session) override {
        DET_TRY(remove(session));
        return ExitCode::done;
    }

private:
    Status remove(Session& session) const {
        DET_TRY_ASSIGN(auto found, find_all(uuids_, session));
        if (!is_sure_) return unconfirmed(fmt::format("{} checkpoints would be removed", found.size()));
        for (auto& checkpoint : found) DET_TRY(checkpoint.store->remove(checkpoint.manifest.uuid));
        if (session.wants_json()) {
            session.answer(Json{{"removed", uuids_}});
        } else {
            session.say(fmt::format("Removed {} checkpoints", found.size()));
        }
        return Ok{};
    }

    std::vector<std::string> uuids_;
    bool is_sure_ = false;
};

class CheckpointRm final : public Command {
public:
    std::vector<Option> options() override {
        return {{"uuids", &uuids_, "the checkpoints", Need::required},
                {"--glob", &globs_, "files to remove, by their path in the checkpoint"},
                {"-y,--yes", &is_sure_, "do it: without, nothing is removed"}};
    }

    Outcome run(Session& session) override {
        DET_TRY(remove(session));
        return ExitCode::done;
    }

private:
    bool matches(std::string const& path) const {
        return std::ranges::any_of(
            globs_, [&](auto const& glob) { return ::fnmatch(glob.c_str(), path.c_str(), FNM_PERIOD) == 0; });
    }

    std::vector<std::string> matching(FoundCheckpoint const& checkpoint) const {
        std::vector<std::string> paths;
        for (auto const& file : checkpoint.manifest.files) {
            if (matches(file.path) && file.path != metadata_name) paths.push_back(file.path);
        }
        return paths;
    }

    Status remove(Session& session) const {
        if (globs_.empty()) {
            return Error{codes::usage, "which files are to be removed is not said",
                         "name them by --glob, or remove all by 'checkpoint delete'"};
        }
        DET_TRY_ASSIGN(auto found, find_all(uuids_, session));
        auto answer = Json::array();
        std::size_t count = 0;
        for (auto& checkpoint : found) {
            auto const paths = matching(checkpoint);
            if (is_sure_) DET_TRY(checkpoint.store->remove_files(checkpoint.manifest.uuid, paths));
            answer.push_back({{"uuid", checkpoint.manifest.uuid}, {"removed", paths}});
            count += paths.size();
        }
        if (!is_sure_) return unconfirmed(fmt::format("{} files would be removed", count));
        if (session.wants_json()) {
            session.answer(answer);
        } else {
            session.say(fmt::format("Removed {} files", count));
        }
        return Ok{};
    }

    std::vector<std::string> uuids_, globs_;
    bool is_sure_ = false;
};

}  // namespace

std::unique_ptr<Command> make_checkpoint_delete() { return std::make_unique<CheckpointDelete>(); }
std::unique_ptr<Command> make_checkpoint_rm() { return std::make_unique<CheckpointRm>(); }

}  // namespace det::cli
