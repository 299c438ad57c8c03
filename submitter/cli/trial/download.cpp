#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/history/view.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "command.hpp"
#include "output/view_json.hpp"

namespace det::cli {
namespace {

using retention::KnownCheckpoint;

class TrialDownload final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the trial", Need::required},
                {"--best", &wants_best_, "the checkpoint with the best validation"},
                {"--latest", &wants_latest_, "the newest; the default"},
                {"--uuid", &uuid_, "the checkpoint with this UUID"},
                {"-o,--output-dir", &output_, "the directory to create; default: checkpoints/UUID"}};
    }

    Outcome run(Session& session) override {
        if (int(wants_best_) + int(wants_latest_) + int(uuid_.has_value()) > 1)
            return Error{codes::usage, "--best, --latest and --uuid exclude each other"};
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const id, experiment::require_trial_id(id_));
        ExperimentLayout const layout(root, id.experiment);
        DET_TRY_ASSIGN(auto const record,
                       tracker::history::JournalHistory(root).load_experiment(id.experiment));
        DET_TRY_ASSIGN(auto const trial, experiment::require_trial(
                                             view_experiment(record, tracker::history::QueueSnapshot{}), id));
        auto const& spec = *record.spec;  // has a value, because the record has the trial
        DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(spec, session.environment));
        DET_TRY_ASSIGN(auto known, retention::list_stored_checkpoints(layout, spec, *store));
        std::erase_if(known, [&](auto const& c) { return c.trial != trial.record.id.index; });
        DET_TRY_ASSIGN(auto const uuid, choose(known, spec.searcher));
        std::filesystem::path const target = output_.value_or("checkpoints/" + uuid);
        DET_TRY(experiment::copy_checkpoint(*store, uuid, target));
        session.answer(Json{{"uuid", uuid}, {"path", std::filesystem::absolute(target).string()}},
                       target.string() + '\n');
        return ExitCode::done;
    }

private:
    Result<std::string> choose(std::vector<KnownCheckpoint> const& known,
                               SearcherSpec const& searcher) const {
        auto const none = [&](std::string const& what) {
            return Error{codes::no_such_checkpoint, fmt::format("trial {} has no {}", id_, what),
                         "see 'det-submit experiment list-checkpoints'"};
        };
        if (uuid_) {
            auto const found = std::ranges::find(known, *uuid_, &KnownCheckpoint::uuid);
            if (found == known.end()) return none("checkpoint " + *uuid_);
            return found->uuid;
        }
        if (known.empty()) return none("checkpoint");
        if (!wants_best_) return known.back().uuid;
        KnownCheckpoint const* best = nullptr;
        for (auto const& c : known) {
            if (c.metric &&
                (best == nullptr || is_better(*c.metric, *best->metric, searcher.smaller_is_better)))
                best = &c;
        }
        if (best == nullptr)
            return none(fmt::format("checkpoint with a validation of '{}'", searcher.metric));
        return best->uuid;
    }

    std::string id_;
    bool wants_best_ = false;
    bool wants_latest_ = false;
    std::optional<std::string> uuid_;
    std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_trial_download() { return std::make_unique<TrialDownload>(); }

}  // namespace det::cli
