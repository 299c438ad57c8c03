#include <det/experiment/load_config.hpp>
#include <det/experiment/root.hpp>
#include <det/foundation/text.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "output/table.hpp"

namespace det::cli {
namespace {

constexpr std::uint32_t trials_shown = 100;

/// Renders a value for a table cell: a string unchanged, any other value as JSON.
std::string as_cell(Json const& value) {
    return value.is_string() ? value.get<std::string>() : to_line(value);
}

Json const& value_at(Json const& hyperparameters, std::vector<std::string> const& path) {
    auto const* value = &hyperparameters;
    for (auto const& name : path) value = &value->at(name);
    return *value;
}

/// Renders a row for each trial, with a column for each hyperparameter.
std::string as_table(search::Space const& space, std::vector<search::TrialDraw> const& draws) {
    std::vector<std::string> header{"Trial", "Seed"};
    for (auto const& dimension : space) header.push_back(escape_control(dimension.name()));
    Table table(std::move(header));
    std::uint32_t index = 0;
    for (auto const& draw : draws) {
        std::vector<std::string> row{std::to_string(index++), std::to_string(draw.seed)};
        for (auto const& dimension : space)
            row.push_back(as_cell(value_at(draw.hyperparameters, dimension.path)));
        table.add(std::move(row));
    }
    return table.render();
}

Json as_json(std::vector<search::TrialDraw> const& draws) {
    auto trials = Json::array();
    for (auto const& draw : draws) {
        trials.push_back(
            {{"index", trials.size()}, {"seed", draw.seed}, {"hyperparameters", draw.hyperparameters}});
    }
    return trials;
}

std::string describe_count(search::Search const& search) {
    auto const count = search.trial_count();
    if (count == 1) return "1 trial";
    auto const at_once = search.concurrent_trials_max();
    return at_once == count ? fmt::format("{} trials, all at the same time", count)
                            : fmt::format("{} trials, {} at a time", count, at_once);
}

/// Returns true if the configuration sets no seed. The seed then comes from the time, and the next preview
/// has another one.
bool is_seed_of_the_day(config::ExperimentConfig const& config) {
    auto const written = config.where("reproducibility.experiment_seed");
    return !written || written->file == "defaults";
}

class SearchPreview final : public Command {
public:
    std::vector<Option> options() override {
        return {{"config", &config_, "the configuration file", Need::required},
                {"--template", &template_, "a configuration template"},
                {"--config", &overrides_, "key=value, over the file"},
                {"--trials", &trials_, "show so many trials (100)"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const loaded,
                       experiment::load_config({config_, template_, overrides_}, root, session.clock.now()));
        print(session.err, loaded.warnings, session.style);
        DET_TRY_ASSIGN(auto const search, plan::plan_search(loaded.config));
        auto const input = plan::search_input(loaded.config);
        auto const draws = search.draw_first(trials_.value_or(trials_shown));
        if (session.wants_json()) {
            session.answer(Json{{"searcher", input.searcher.name},
                                {"trial_count", search.trial_count()},
                                {"concurrent_trials_max", search.concurrent_trials_max()},
                                {"experiment_seed", input.experiment_seed},
                                {"trials", as_json(draws)}});
        } else {
            session.out << fmt::format("{}: {}; experiment seed {}\n\n", input.searcher.name,
                                       describe_count(search), input.experiment_seed);
            session.out << as_table(search.space(), draws);
        }
        say_more(search, draws.size(), is_seed_of_the_day(loaded.config), session);
        return ExitCode::done;
    }

private:
    static void say_more(search::Search const& search, std::size_t shown, bool is_new_seed,
                         Session const& session) {
        if (shown < search.trial_count()) {
            session.say(fmt::format("{} more trials: see them with --trials {}", search.trial_count() - shown,
                                    search.trial_count()));
        }
        if (is_new_seed)
            session.say("the seed is new each time: set reproducibility.experiment_seed to keep it");
    }

    std::string config_;
    std::optional<std::string> template_;
    std::vector<std::string> overrides_;
    std::optional<std::uint32_t> trials_;
};

}  // namespace

std::unique_ptr<Command> make_search_preview() { return std::make_unique<SearchPreview>(); }

}  // namespace det::cli
