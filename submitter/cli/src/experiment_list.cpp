#include <det/history/journal_history.hpp>

#include <algorithm>
#include <ostream>

#include "command.hpp"
#include "root.hpp"
#include "table.hpp"
#include "views.hpp"

namespace det::cli {
namespace {

class ExperimentList final : public Command {
public:
    std::vector<Option> options() override { return {}; }

    Outcome run(Session& session) override {
        auto const root = find_root(session.environment);
        if (!root) return Diagnostics(root.error());
        history::JournalHistory history(*root);
        auto views = load_views(history, session);
        if (!views) return Diagnostics(std::move(views).error());
        if (session.wants_json()) {
            auto answer = Json::array();
            for (auto const& view : *views) answer.push_back(to_json(view));
            session.answer(answer);
        } else {
            session.out << as_table(*views);
        }
        return ExitCode::done;
    }

private:
    /// One question to Slurm for all. An experiment that can't be read is told and passed over.
    static Result<std::vector<history::ExperimentView>> load_views(history::History& history,
                                                                   Session& session) {
        DET_TRY_ASSIGN(auto const ids, history.list_experiments());
        std::vector<history::ExperimentRecord> records;
        for (auto const id : ids) {
            auto record = history.load_experiment(id);
            if (record) {
                records.push_back(*std::move(record));
            } else {
                session.warn(std::move(record).error().while_doing("listing experiment " + to_string(id)));
            }
        }
        auto const queue = look_at_queue(records, session);
        std::vector<history::ExperimentView> views;
        for (auto& record : records) views.push_back(view_experiment(std::move(record), queue));
        return views;
    }

    static std::string as_table(std::vector<history::ExperimentView> const& views) {
        Table table({"ID", "Owner", "Name", "State", "Trials", "Started", "Ended", "Resource Pool"});
        for (auto const& view : views) {
            auto const& spec = view.record.spec;
            auto const completed =
                std::count_if(view.trials.begin(), view.trials.end(),
                              [](auto const& trial) { return trial.state == lifecycle::State::completed; });
            table.add({to_string(view.record.id), spec ? spec->owner : "", spec ? spec->name : "",
                       std::string(to_string(view.state)),
                       std::to_string(completed) + "/" + std::to_string(view.trials.size()),
                       short_time(view.started()), short_time(view.ended()), spec ? spec->pool : ""});
        }
        return table.render();
    }
};

}  // namespace

std::unique_ptr<Command> make_experiment_list() { return std::make_unique<ExperimentList>(); }

}  // namespace det::cli
