#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/find_checkpoint.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <fmt/format.h>
#include <ostream>

#include "checkpoint/checkpoint_order.hpp"
#include "command.hpp"

namespace det::cli {
namespace {

class ExperimentDownload final : public Command {
public:
    std::vector<Option> options() override {
        std::vector<Option> options{
            {"id", &id_, "the experiment", Need::required},
            {"-o,--output-dir", &output_, "the directory for the copies; default: checkpoints"},
            {"--top-n", &top_n_, "copy so many, the best one first", Need::optional, {}, {{1, 1'000'000}}},
            {"-q,--quiet", &quiet_, "print only the directories of the copies; the default"}};
        order_.add_options(options);
        return options;
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        auto const journals = session.open_journals(root);
        auto& history = *journals;
        DET_TRY_ASSIGN(auto const record, history.load_experiment_without_trials(id));
        if (!record.spec) return no_checkpoint(id, "checkpoint");
        auto spec = *record.spec;
        DET_TRY(order_.apply(spec));
        DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(spec, session.environment));
        DET_TRY_ASSIGN(auto best,
                       retention::list_stored_checkpoints(ExperimentLayout(root, id), spec, *store));
        filter_and_sort_by_metric(best, spec.searcher.smaller_is_better);
        if (best.empty()) {
            if (order_.sort_by) DET_TRY(order_.require_metric(history, trials_of(record)));
            return no_checkpoint(id,
                                 fmt::format("checkpoint with a validation of '{}'", spec.searcher.metric));
        }
        if (best.size() > static_cast<std::size_t>(top_n_)) best.resize(static_cast<std::size_t>(top_n_));
        DET_TRY(copy_all(id, best, *store, session));
        return ExitCode::done;
    }

private:
    static std::vector<TrialId> trials_of(tracker::history::ExperimentRecord const& record) {
        std::vector<TrialId> trials;
        for (std::uint32_t index = 0; index < record.trial_count(); ++index)
            trials.push_back({record.id, index});
        return trials;
    }

    static Error no_checkpoint(ExperimentId id, std::string const& what) {
        return {codes::no_such_checkpoint, fmt::format("experiment {} has no {}", id.value, what),
                fmt::format("see 'det-submit experiment list-checkpoints {}'", id.value)};
    }

    /// Copies all, or none if one of the directories exists already.
    Status copy_all(ExperimentId id, std::vector<retention::KnownCheckpoint> const& checkpoints,
                    checkpoint::Store const& store, Session& session) const {
        std::filesystem::path const directory = output_.value_or("checkpoints");
        for (auto const& checkpoint : checkpoints) {
            if (path_exists(directory / checkpoint.uuid))
                return Error{codes::name_taken,
                             fmt::format("'{}' exists already", (directory / checkpoint.uuid).string()),
                             "name another directory with --output-dir"};
        }
        auto answer = Json::array();
        for (auto const& checkpoint : checkpoints) {
            auto const target = directory / checkpoint.uuid;
            DET_TRY(experiment::copy_checkpoint(store, checkpoint.uuid, target));
            answer.push_back({{"uuid", checkpoint.uuid},
                              {"trial", to_string(TrialId{id, checkpoint.trial})},
                              {"steps_completed", checkpoint.steps_completed},
                              {"metric", *checkpoint.metric},
                              {"path", std::filesystem::absolute(target).string()}});
            if (!session.wants_json()) session.out << target.string() << std::endl;
        }
        if (session.wants_json()) session.answer(answer);
        return Ok{};
    }

    std::string id_;
    std::optional<std::string> output_;
    int top_n_ = 1;
    bool quiet_ = false;
    CheckpointOrder order_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_download() { return std::make_unique<ExperimentDownload>(); }

}  // namespace det::cli
