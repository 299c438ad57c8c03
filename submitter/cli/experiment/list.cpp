#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/ranked_trials.hpp"
#include "output/load_interruptions.hpp"
#include "output/table.hpp"

namespace det::cli {
namespace {

/// Which of the experiments to list, in their order. Limit and offset count archived experiments only with
/// --all.
struct Page {
    std::optional<std::uint32_t> limit, offset;
    bool is_reversed = false;
};

class ExperimentList final : public Command {
public:
    std::vector<Option> options() override {
        return {{"-a,--all", &all_, "archived ones too"},
                {"--csv", &csv_, "print comma-separated values"},
                {"--limit", &page_.limit, "so many experiments at most"},
                {"--offset", &page_.offset, "leave out so many experiments before them"},
                {"--reverse", &page_.is_reversed, "the newest one first"},
                {"--metrics", &metrics_, "the best trial of each experiment too"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        auto const journals = session.open_journals(root);
        auto& history = *journals;
        DET_TRY_ASSIGN(auto const views, load_views(history, session));
        if (session.wants_json()) {
            auto answer = Json::array();
            for (auto const& view : views) {
                answer.push_back(to_json(view));
                if (metrics_)
                    answer.back()["best_trial"] = best_json(view, find_best(view, history, session));
            }
            session.answer(answer);
        } else {
            auto const table = as_table(views, history, session);
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
        }
        return ExitCode::done;
    }

private:
    /// Loads the experiments of the page. Asks Slurm once for all their jobs. Warns about an experiment that
    /// can't be read and leaves it out.
    Result<std::vector<tracker::history::ExperimentView>> load_views(tracker::history::History& history,
                                                                     Session& session) const {
        DET_TRY_ASSIGN(auto ids, history.list_experiments());
        if (page_.is_reversed) std::ranges::reverse(ids);
        auto left_out = page_.offset.value_or(0);
        std::vector<tracker::history::ExperimentRecord> records;
        for (auto const id : ids) {
            if (page_.limit && records.size() == *page_.limit) break;
            auto record = history.load_experiment(id);
            if (!record) {
                session.warn(std::move(record).error().while_doing("listing experiment " + to_string(id)));
                continue;
            }
            if (!all_ && tracker::history::attributes_of(*record).is_archived) continue;
            if (left_out > 0) {
                --left_out;
            } else {
                records.push_back(*std::move(record));
            }
        }
        auto const queue = experiment::query_queue(records, session);
        std::vector<tracker::history::ExperimentView> views;
        for (auto& record : records) views.push_back(view_experiment(std::move(record), queue));
        return views;
    }

    /// Warns about journals that can't be read. A damaged one makes the exit code that of damage.
    static std::optional<RankedTrial> find_best(tracker::history::ExperimentView const& view,
                                                tracker::history::History& history, Session const& session) {
        auto ranked = rank_trials(view, history);
        if (ranked) return ranked->empty() ? std::nullopt : std::optional(ranked->front());
        auto error = std::move(ranked).error().while_doing("comparing the trials of experiment " +
                                                           to_string(view.record.id));
        if (error.code == codes::journal_damaged)
            session.on_damage(std::move(error));
        else
            session.warn(std::move(error));
        return std::nullopt;
    }

    static Json best_json(tracker::history::ExperimentView const& view,
                          std::optional<RankedTrial> const& best) {
        if (!best) return nullptr;
        return {{"name", to_string(best->view->record.id)},
                {"metric", view.record.spec->searcher.metric},
                {"value", best->validation.value},
                {"steps_completed", best->validation.steps_completed}};
    }

    Table as_table(std::vector<tracker::history::ExperimentView> const& views,
                   tracker::history::History& history, Session const& session) const {
        std::vector<std::string> header{"ID",     "Owner",   "Name",  "Parent ID",    "State",
                                        "Trials", "Started", "Ended", "Resource Pool"};
        if (metrics_) header.insert(header.end(), {"Best Trial", "Best Metric"});
        if (all_) header.push_back("Archived");
        Table table(std::move(header),
                    {"Archived", "Parent ID", "Owner", "Resource Pool", "Ended", "Started"});
        for (auto const& view : views) {
            auto const& spec = view.record.spec;
            auto const completed =
                std::count_if(view.trials.begin(), view.trials.end(),
                              [](auto const& trial) { return trial.state == lifecycle::State::completed; });
            auto const now = tracker::history::attributes_of(view.record);
            std::vector<std::string> row{to_string(view.record.id),
                                         spec ? spec->owner : "",
                                         now.name,
                                         spec && spec->parent ? to_string(*spec->parent) : "",
                                         std::string(to_string(view.state)),
                                         fmt::format("{}/{}", completed, view.trials.size()),
                                         short_time(view.started()),
                                         short_time(view.ended()),
                                         spec ? spec->pool : ""};
            if (metrics_) {
                auto const best = find_best(view, history, session);
                row.push_back(best ? to_string(best->view->record.id) : "");
                row.push_back(best ? fmt::format("{}={:.6g}", spec->searcher.metric, best->validation.value)
                                   : "");
            }
            if (all_) row.push_back(now.is_archived ? "yes" : "");
            table.add(std::move(row));
        }
        return table;
    }

    Page page_;
    bool all_ = false;
    bool csv_ = false;
    bool metrics_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_list() { return std::make_unique<ExperimentList>(); }

}  // namespace det::cli
