#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>
#include <det/retention/collect_garbage.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "continue_experiment.hpp"
#include "open_experiment.hpp"

namespace det::cli {
namespace {

class ExperimentDelete final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"-y,--yes", &is_sure_, "do it: without, nothing is removed"}};
    }

    Outcome run(Session& session) override {
        DET_TRY(remove(session));
        return ExitCode::done;
    }

private:
    Status remove(Session& session) const {
        DET_TRY_ASSIGN(auto const experiment, open_experiment_with_jobs(id_, session));
        auto const& view = experiment.view;
        if (!lifecycle::is_terminal(view.state) && view.state != lifecycle::State::submitting) {
            return Error{codes::wrong_state,
                         fmt::format("experiment {} is {}: only what has ended is deleted",
                                     experiment.id().value, to_string(view.state)),
                         "end it first with 'det-submit experiment cancel' or 'kill'"};
        }
        if (!view.record.arrays().empty() && view.state == lifecycle::State::submitting) {
            return Error{
                codes::wrong_state, fmt::format("experiment {} has jobs in Slurm", experiment.id().value),
                fmt::format("end them first with 'det-submit experiment kill {}'", experiment.id().value)};
        }
        if (!is_sure_) {
            return Error{codes::usage,
                         fmt::format("experiment {}, its checkpoints, metrics and logs would be removed",
                                     experiment.id().value),
                         "add --yes to do it: it can't be undone"};
        }
        DET_TRY_ASSIGN(auto const kept, remove_checkpoints(experiment, session));
        if (view.record.spec) DET_TRY(cancel_strays(experiment, session));
        DET_TRY(remove_files(experiment.layout));
        if (session.wants_json()) {
            session.answer(Json{{"id", experiment.id().value}, {"kept_checkpoints", kept}});
        } else {
            session.say(fmt::format("Deleted experiment {}", experiment.id().value));
        }
        return Ok{};
    }

    /// All but those that other experiments start from, which it returns.
    static Result<Json> remove_checkpoints(OpenExperiment const& experiment, Session const& session) {
        auto kept = Json::array();
        auto const& spec = experiment.view.record.spec;
        if (!spec) return kept;
        DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(*spec, session.environment));
        DET_TRY_ASSIGN(auto const report,
                       retention::collect_garbage(experiment.root, experiment.layout, *store,
                                                  {{0, 0, 0}, session.clock.now()}));
        if (!report.failures.empty()) return report.failures.front();
        for (auto const& checkpoint : report.kept) kept.push_back(checkpoint.uuid);
        return kept;
    }

    /// The mark first: what is half removed is not shown. The directory stays, so that the id is not given
    /// again.
    static Status remove_files(ExperimentLayout const& layout) {
        DET_TRY(write_file(layout.deleted(), ""));
        DET_TRY_ASSIGN(auto const names, list_directory(layout.path()));
        for (auto const& name : names) {
            if (name != layout.deleted().filename()) DET_TRY(remove_tree(layout.path() / name));
        }
        return Ok{};
    }

    std::string id_;
    bool is_sure_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_delete() { return std::make_unique<ExperimentDelete>(); }

}  // namespace det::cli
