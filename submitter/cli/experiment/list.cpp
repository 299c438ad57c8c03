#include <det/experiment/load_site.hpp>
#include <det/experiment/purge.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/site_roots.hpp>
#include <det/foundation/count_text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "experiment/listed_roots.hpp"
#include "experiment/ranked_trials.hpp"
#include "output/load_interruptions.hpp"
#include "output/table.hpp"

namespace det::cli {
namespace {

class ExperimentList final : public Command {
public:
    std::vector<Option> options() override {
        return {{"-a,--all", &all_,
                 "archived ones too, and those that others share below the site's storage_root"},
                {"--csv", &csv_, "print comma-separated values"},
                {"--limit", &page_.limit, "so many experiments at most"},
                {"--offset", &page_.offset, "leave out so many experiments before them"},
                {"--reverse", &page_.is_reversed, "the newest one first"},
                {"--metrics", &metrics_, "the best trial of each experiment too"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        ListedRoots roots(session);
        if (session.foreign_root) {
            roots.add(*session.foreign_root);
        } else {
            roots.add_own(root);
        }
        if (all_ && !session.has_named_root) add_site_roots(roots, session);
        DET_TRY_ASSIGN(auto const listed, roots.load_views(page_, all_));
        auto const site = experiment::load_site_file(session.environment);
        auto const purge = site ? experiment::find_purge(*site) : std::nullopt;
        if (session.wants_json()) {
            auto answer = Json::array();
            for (auto const& each : listed) answer.push_back(row_json(each, purge, session));
            session.answer(answer);
        } else {
            auto const table = as_table(listed, purge, session);
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
        }
        warn_about_purge(listed, purge, session);
        return ExitCode::done;
    }

private:
    static void add_site_roots(ListedRoots& roots, Session& session) {
        auto const found = experiment::find_site_roots(session);
        if (!found)
            return session.warn(Error(found.error()).while_doing("looking for the roots of other users"));
        for (auto const& refused : found->refused) session.warn(refused);
        for (auto const& foreign : found->readable) roots.add(foreign);
        auto const count = found->private_count;
        if (count > 0)
            session.say(fmt::format("{} of other users {} not shared with you", count_text(count, "root"),
                                    count == 1 ? "is" : "are"));
    }

    Json row_json(ListedExperiment const& listed, std::optional<experiment::Purge> const& purge,
                  Session const& session) const {
        auto row = to_json(listed.view);
        if (listed.root->is_foreign) row["owner"] = listed.root->owner;
        if (all_ || listed.root->is_foreign) row["root"] = listed.root->layout.path().string();
        if (metrics_) row["best_trial"] = best_json(listed.view, find_best(listed, session));
        if (auto const when = purge_time(listed, purge)) row["purged"] = format_utc(*when);
        return row;
    }

    static std::optional<UtcTime> purge_time(ListedExperiment const& listed,
                                             std::optional<experiment::Purge> const& purge) {
        return purge ? purge->time_of(listed.root->layout, listed.view) : std::nullopt;
    }

    /// Names the experiments of this user that the site deletes soon.
    static void warn_about_purge(std::vector<ListedExperiment> const& listed,
                                 std::optional<experiment::Purge> const& purge, Session& session) {
        std::vector<experiment::PurgedExperiment> soon;
        for (auto const& each : listed) {
            auto const when = each.root->is_foreign ? std::nullopt : purge_time(each, purge);
            if (when) soon.push_back({each.view.record.id, *when});
        }
        if (auto warning = experiment::purge_warning(std::move(soon), purge, session.clock.now()))
            session.warn(*std::move(warning));
    }

    /// Warns about journals that can't be read. A damaged one makes the exit code that of damage.
    static std::optional<RankedTrial> find_best(ListedExperiment const& listed, Session const& session) {
        auto const& view = listed.view;
        auto ranked = rank_trials(view, *listed.root->history);
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

    Table as_table(std::vector<ListedExperiment> const& listed, std::optional<experiment::Purge> const& purge,
                   Session const& session) const {
        bool const has_roots =
            std::ranges::any_of(listed, [](auto const& each) { return each.root->is_foreign; });
        bool const has_purge = std::ranges::any_of(
            listed, [&](auto const& each) { return purge_time(each, purge).has_value(); });
        std::vector<std::string> header{"ID",     "Owner",   "Name",  "Parent ID",    "State",
                                        "Trials", "Started", "Ended", "Resource Pool"};
        if (metrics_) header.insert(header.end(), {"Best Trial", "Best Metric"});
        if (all_) header.push_back("Archived");
        if (has_purge) header.push_back("Purged");
        if (has_roots) header.push_back("Root");
        auto const style = answer_style_of(session, csv_);
        Table table(std::move(header),
                    {"Archived", "Parent ID", "Resource Pool", "Ended", "Started", "Owner"});
        for (auto const& each : listed) {
            auto const& view = each.view;
            auto const& spec = view.record.spec;
            auto const completed =
                std::count_if(view.trials.begin(), view.trials.end(),
                              [](auto const& trial) { return trial.state == lifecycle::State::completed; });
            auto const now = tracker::history::attributes_of(view.record);
            std::vector<std::string> row{to_string(view.record.id),
                                         each.root->is_foreign ? each.root->owner
                                         : spec                ? spec->owner
                                                               : "",
                                         now.name,
                                         spec && spec->parent ? to_string(*spec->parent) : "",
                                         std::string(to_string(view.state)),
                                         fmt::format("{}/{}", completed, view.trials.size()),
                                         style.time(view.started()),
                                         style.time(view.ended()),
                                         spec ? spec->pool : ""};
            if (metrics_) {
                auto const best = find_best(each, session);
                row.push_back(best ? to_string(best->view->record.id) : "");
                row.push_back(
                    best ? fmt::format("{}={}", spec->searcher.metric, style.number(best->validation.value))
                         : "");
            }
            if (all_) row.push_back(now.is_archived ? "yes" : "");
            if (has_purge) row.push_back(style.time(purge_time(each, purge)));
            if (has_roots) row.push_back(each.root->layout.path().string());
            table.add(std::move(row));
        }
        return table;
    }

    ListPage page_;
    bool all_ = false;
    bool csv_ = false;
    bool metrics_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_list() { return std::make_unique<ExperimentList>(); }

}  // namespace det::cli
