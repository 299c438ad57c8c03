#include <det/checkpoint/storage/open_store.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/retention/list_checkpoints.hpp>
#include <det/tracker/history/history.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "output/load_interruptions.hpp"
#include "output/table.hpp"

namespace det::cli {
namespace {

using retention::CommittedCheckpoint;
using retention::Presence;

/// Returns Determined's name of the checkpoint's state, or UNKNOWN if the storage does not answer.
std::string_view state_of(CommittedCheckpoint const& checkpoint) {
    constexpr std::string_view states[] = {"COMPLETED", "PARTIALLY_DELETED", "DELETED", "UNKNOWN"};
    return states[static_cast<std::size_t>(checkpoint.presence)];
}

/// Keeps the `number` checkpoints with the best validation that are still stored, the best first.
void keep_best(std::vector<CommittedCheckpoint>& checkpoints, std::uint32_t number, bool smaller_is_better) {
    std::erase_if(checkpoints, [](auto const& c) { return !c.metric || c.presence == Presence::none; });
    std::ranges::stable_sort(checkpoints, [&](auto const& a, auto const& b) {
        return is_better(*a.metric, *b.metric, smaller_is_better);
    });
    if (checkpoints.size() > number) checkpoints.erase(checkpoints.begin() + number, checkpoints.end());
}

struct Listing {
    ExperimentId experiment;
    std::vector<CommittedCheckpoint> checkpoints;
};

class ExperimentListCheckpoints final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--best", &best_, "only so many, those that validated best, the best one first"},
                {"--csv", &csv_, "print comma-separated values"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto listing, load(session));
        if (session.wants_json()) {
            session.answer(as_json(listing));
        } else {
            auto const table = as_table(listing, answer_style_of(session, csv_));
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
        }
        return ExitCode::done;
    }

private:
    Result<Listing> load(Session const& session) const {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        DET_TRY_ASSIGN(auto const record, session.open_history(root)->load_experiment(id));
        if (!record.spec) return Listing{id, {}};
        DET_TRY_ASSIGN(auto checkpoints, list(ExperimentLayout(root, id), *record.spec, session));
        if (best_) keep_best(checkpoints, *best_, record.spec->searcher.smaller_is_better);
        return Listing{id, std::move(checkpoints)};
    }

    /// Lists the committed checkpoints. If the storage can't be read, warns and uses only the journals.
    static Result<std::vector<CommittedCheckpoint>> list(ExperimentLayout const& experiment,
                                                         ExperimentSpec const& spec, Session const& session) {
        auto const store = checkpoint::storage::open_store(spec, session.environment);
        auto found = store ? retention::list_committed(experiment, spec, store->get())
                           : Result<std::vector<CommittedCheckpoint>>(store.error());
        if (found) return found;
        session.warn(std::move(found).error().while_doing("asking the checkpoint storage what is there"));
        return retention::list_committed(experiment, spec, nullptr);
    }

    static Json as_json(Listing const& listing) {
        auto answer = Json::array();
        for (auto const& checkpoint : listing.checkpoints) {
            auto const& [index, run, committed, metric, presence] = checkpoint;
            TrialId const trial{listing.experiment, index};
            answer.push_back({{"trial_id", to_integer(trial)},
                              {"trial", to_string(trial)},
                              {"run", run},
                              {"steps_completed", committed.steps_completed},
                              {"time", format_utc(committed.time)},
                              {"state", state_of(checkpoint)},
                              {"metric", json_or_null(metric)},
                              {"uuid", committed.uuid},
                              {"resources", committed.resources},
                              {"metadata", committed.metadata}});
        }
        return answer;
    }

    static Table as_table(Listing const& listing, AnswerStyle const& style) {
        Table table({"Trial", "Run", "Steps", "Time", "State", "Metric", "Size", "UUID"},
                    {"Run", "Size", "Time", "State"});
        for (auto const& checkpoint : listing.checkpoints) {
            auto const& [index, run, committed, metric, presence] = checkpoint;
            TrialId const trial{listing.experiment, index};
            table.add({to_string(trial), std::to_string(run), std::to_string(committed.steps_completed),
                       style.time(committed.time), std::string(state_of(checkpoint)),
                       metric ? style.number(*metric) : "", format_size(retention::size_bytes_of(committed)),
                       committed.uuid});
        }
        return table;
    }

    std::string id_;
    std::optional<std::uint32_t> best_;
    bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_list_checkpoints() {
    return std::make_unique<ExperimentListCheckpoints>();
}

/// `checkpoint list` is `experiment list-checkpoints` under a second name.
std::unique_ptr<Command> make_checkpoint_list() { return make_experiment_list_checkpoints(); }

}  // namespace det::cli
