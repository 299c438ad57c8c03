#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/tracker/history/experiment_view.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "checkpoint/checkpoint_order.hpp"
#include "command.hpp"
#include "output/load_interruptions.hpp"

namespace det::cli {
namespace {

using retention::KnownCheckpoint;

class TrialDownload final : public Command {
public:
    std::vector<Option> options() override {
        std::vector<Option> options{
            {"id", &id_, "the trial", Need::required},
            {"--best", &wants_best_, "the checkpoint with the best validation"},
            {"--latest", &wants_latest_, "the newest; the default"},
            {"--uuid", &uuid_, "the checkpoint with this UUID"},
            {"-o,--output-dir", &output_, "the directory to create; default: checkpoints/UUID"},
            {"-q,--quiet", &quiet_, "print only the directory of the copy; the default"}};
        order_.add_options(options);
        return options;
    }

    Outcome run(Session& session) override {
        if (int(wants_best_) + int(wants_latest_) + int(uuid_.has_value()) > 1)
            return Error{codes::usage, "--best, --latest and --uuid exclude each other"};
        if (order_.sort_by && (wants_latest_ || uuid_))
            return Error{codes::usage, "--sort-by belongs to --best"};
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto const id, experiment::require_trial_id(id_));
        ExperimentLayout const layout(root, id.experiment);
        auto const journals = session.open_journals(root);
        auto& history = *journals;
        DET_TRY_ASSIGN(auto const record, history.load_experiment(id.experiment));
        DET_TRY_ASSIGN(auto const trial, experiment::require_trial(
                                             view_experiment(record, tracker::history::QueueSnapshot{}), id));
        auto spec = *record.spec;  // has a value, because the record has the trial
        DET_TRY(order_.apply(spec));
        DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(spec, session.environment));
        DET_TRY_ASSIGN(auto known, retention::list_stored_checkpoints(layout, spec, *store));
        std::erase_if(known, [&](auto const& c) { return c.trial != trial.record.id.index; });
        DET_TRY_ASSIGN(auto const uuid, choose(known, spec.searcher, history, trial.record.id));
        std::filesystem::path const target = output_.value_or("checkpoints/" + uuid);
        DET_TRY(experiment::copy_checkpoint(*store, uuid, target));
        session.answer(Json{{"uuid", uuid}, {"path", std::filesystem::absolute(target).string()}},
                       target.string() + '\n');
        return ExitCode::done;
    }

private:
    Result<std::string> choose(std::vector<KnownCheckpoint> const& known, SearcherSpec const& searcher,
                               tracker::history::History& history, TrialId trial) const {
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
        if (!wants_best_ && !order_.sort_by) return known.back().uuid;
        auto best = known;
        filter_and_sort_by_metric(best, searcher.smaller_is_better);
        if (best.empty()) {
            if (order_.sort_by) DET_TRY(order_.require_metric(history, {trial}));
            return none(fmt::format("checkpoint with a validation of '{}'", searcher.metric));
        }
        return best.front().uuid;
    }

    std::string id_;
    bool wants_best_ = false;
    bool wants_latest_ = false;
    bool quiet_ = false;
    CheckpointOrder order_;
    std::optional<std::string> uuid_;
    std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_trial_download() { return std::make_unique<TrialDownload>(); }

}  // namespace det::cli
