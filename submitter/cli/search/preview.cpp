#include <det/experiment/load_config.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/template_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "config/standard_input.hpp"
#include "experiment/describe_search.hpp"
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
std::string as_table(search::Space const& space, std::vector<search::TrialDraw> const& draws,
                     AnswerStyle const& style) {
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
    return table.render(style);
}

// What a search shows whose hyperparameters a program chooses when a trial begins.

/// The values of a hyperparameter that the sampler chooses from.
struct SamplerRangeText {
    std::string operator()(search::Constant const& constant) const { return as_cell(constant.value); }
    std::string operator()(search::IntRange const& range) const {
        return fmt::format("{} to {}", range.minval, range.maxval);
    }
    std::string operator()(search::DoubleRange const& range) const {
        return fmt::format("{} to {}", range.minval, range.maxval);
    }
    std::string operator()(search::LogRange const& range) const {
        return fmt::format("{0}^{1} to {0}^{2}", range.base, range.minval, range.maxval);
    }
    std::string operator()(search::Choices const& choices) const {
        std::vector<std::string> cells;
        for (auto const& each : choices.vals) cells.push_back(as_cell(each));
        return join(cells, ", ");
    }
};

std::string sampler_ranges_table(search::Space const& space, AnswerStyle const& style) {
    Table table({"Hyperparameter", "Values"});
    for (auto const& dimension : space)
        table.add({escape_control(dimension.name()),
                   escape_control(std::visit(SamplerRangeText{}, dimension.values))});
    return table.render(style);
}

bool may_prune(SearcherSpec const& searcher) {
    auto const& options = *searcher.options;
    return searcher.name == "custom" && options.contains("prune") && options["prune"] == true;
}

/// The unit of the lengths that the sampler sets. Empty if it sets none.
std::string sampler_unit(SearcherSpec const& searcher) {
    if (!search::sampler_sets_lengths(searcher)) return "";
    auto const& options = *searcher.options;
    return options.contains("unit") ? as_cell(options["unit"]) : "batches";
}

std::string describe_sampler(SearcherSpec const& searcher) {
    auto const& command = (*searcher.options)["command"];
    std::vector<std::string> words;
    if (command.is_string()) words.push_back(command.get<std::string>());
    if (command.is_array())
        for (auto const& word : command) words.push_back(as_cell(word));
    auto text = fmt::format("'{}' chooses the hyperparameters of a trial when it begins\n",
                            escape_control(join(words, " ")));
    if (auto const unit = sampler_unit(searcher); !unit.empty())
        text += fmt::format("It also says how many {} each trial trains\n", unit);
    if (may_prune(searcher)) text += "It may end a trial that has reported a validation\n";
    return text + '\n';
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

// What an adaptive search does with its trials.

/// The expected total length of all trials: each trains up to the rung at which it is stopped.
double total_length(search::AshaSearch const& asha) {
    double total = 0;
    for (auto const& bracket : asha.brackets) {
        auto const arrivals = search::expected_arrivals(bracket, asha.divisor);
        std::uint64_t before = 0;
        for (std::size_t rung = 0; rung < arrivals.size(); ++rung) {
            total += arrivals[rung] * static_cast<double>(bracket.rung_lengths[rung] - before);
            before = bracket.rung_lengths[rung];
        }
    }
    return total;
}

std::string brackets_table(search::AshaSearch const& asha, AnswerStyle const& style) {
    Table table({"Bracket", "Trials", "At a Time", "Rung", "Length", "Trials That Reach It"});
    for (std::size_t i = 0; i < asha.brackets.size(); ++i) {
        auto const& bracket = asha.brackets[i];
        auto const arrivals = search::expected_arrivals(bracket, asha.divisor);
        for (std::size_t rung = 0; rung < arrivals.size(); ++rung) {
            bool const is_first = rung == 0;
            table.add({is_first ? std::to_string(i) : "", is_first ? std::to_string(bracket.trials) : "",
                       is_first ? std::to_string(bracket.concurrent_trials) : "", std::to_string(rung),
                       std::to_string(bracket.rung_lengths[rung]), fmt::format("{:.0f}", arrivals[rung])});
        }
    }
    return table.render(style);
}

Json brackets_json(search::AshaSearch const& asha) {
    auto brackets = Json::array();
    for (auto const& bracket : asha.brackets) {
        auto const arrivals = search::expected_arrivals(bracket, asha.divisor);
        auto rungs = Json::array();
        for (std::size_t rung = 0; rung < arrivals.size(); ++rung)
            rungs.push_back({{"length", bracket.rung_lengths[rung]}, {"expected_trials", arrivals[rung]}});
        brackets.push_back({{"trials", bracket.trials},
                            {"concurrent_trials", bracket.concurrent_trials},
                            {"rungs", std::move(rungs)}});
    }
    return brackets;
}

/// How long all trials train together, in the unit of the searcher.
struct Budget {
    search::TrainingLength length;  // of one trial that is not stopped
    bool is_upper_limit = false;    // a sampler may end trials before
    double total = 0;
    double undisturbed = 0;  // if no trial were stopped
    std::optional<double> slot_hours = {};
};

std::string describe(Budget const& budget) {
    auto const unit = budget.length.time_metric.empty()
                          ? std::string(to_string(budget.length.unit))
                          : fmt::format("of '{}'", escape_control(budget.length.time_metric));
    auto text =
        fmt::format("In all {}{:.0f} {}", budget.is_upper_limit ? "at most " : "", budget.total, unit);
    if (budget.total < budget.undisturbed)
        text += fmt::format(", {:.0f} % of what all trials would train without being stopped",
                            100 * budget.total / budget.undisturbed);
    if (budget.slot_hours) text += fmt::format("; {:.1f} slot-hours", *budget.slot_hours);
    return text + "\n\n";
}

Json to_json(Budget const& budget) {
    return {{"length", budget.length.value},
            {"unit", to_string(budget.length.unit)},
            {"time_metric", text_or_null(budget.length.time_metric)},
            {"total_length", budget.total},
            {"slot_hours", json_or_null(budget.slot_hours)}};
}

class SearchPreview final : public Command {
public:
    std::vector<Option> options() override {
        return {{"config", &config_, "the configuration file, or an experiment", Need::required},
                {"--template", &template_, "a configuration template"},
                {"--config", &overrides_, "key=value, over the file"},
                {"--trials", &trials_, "show so many trials (100)"},
                {"--unit-time", &unit_time_, "how long a trial trains for one unit of its length: 90s"}};
    }

    Outcome run(Session& session) override {
        if (names_experiment()) return describe_experiment(session);
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const site, experiment::load_site_file(session.environment));
        experiment::ConfigSources sources{config_, template_, overrides_};
        DET_TRY(read_config_if_stdin(sources, session));
        DET_TRY_ASSIGN(sources.shared_template_directories,
                       experiment::find_shared_template_directories(session.environment, site));
        DET_TRY_ASSIGN(auto const loaded, experiment::load_config(sources, root, session.clock.now()));
        print(session.err, loaded.warnings, session.style);
        DET_TRY_ASSIGN(auto const search, plan::plan_search(loaded.config));
        auto const input = plan::search_input(loaded.config);
        bool const has_sampler = input.searcher.name == "custom";
        std::vector<search::TrialDraw> draws;
        if (!has_sampler) draws = search.draw_first(trials_.value_or(trials_shown));
        DET_TRY_ASSIGN(auto const budget, make_budget(loaded.config, input.searcher, search));
        if (session.wants_json()) {
            Json answer{{"searcher", input.searcher.name},
                        {"trial_count", search.trial_count()},
                        {"concurrent_trials_max", search.concurrent_trials_max()},
                        {"experiment_seed", input.experiment_seed},
                        {"trials", as_json(draws)}};
            if (has_sampler) {
                answer["command"] = (*input.searcher.options)["command"];
                answer["length_unit"] = text_or_null(sampler_unit(input.searcher));
                answer["prune"] = may_prune(input.searcher);
            }
            if (search.asha()) answer["brackets"] = brackets_json(*search.asha());
            if (budget) answer["budget"] = to_json(*budget);
            session.answer(answer);
        } else {
            session.out << fmt::format("{}: {}; experiment seed {}\n", input.searcher.name,
                                       describe_count(search), input.experiment_seed);
            if (budget) session.out << describe_length(search, *budget) << '\n';
            if (search.asha())
                session.out << brackets_table(*search.asha(), answer_style_of(session)) << '\n';
            session.out << (budget ? describe(*budget) : "\n");
            auto const style = answer_style_of(session);
            if (has_sampler)
                session.out << describe_sampler(input.searcher)
                            << sampler_ranges_table(search.space(), style);
            else
                session.out << as_table(search.space(), draws, style);
        }
        say_more(search, has_sampler ? search.trial_count() : draws.size(), is_seed_of_the_day(loaded.config),
                 session);
        return ExitCode::done;
    }

private:
    /// Whether the argument is the id of an experiment. Names are replaced by ids before the command runs.
    bool names_experiment() const {
        return parse_integer<std::uint32_t>(config_).has_value() && !path_exists(config_);
    }

    /// Shows what the search of an experiment has done.
    Outcome describe_experiment(Session& session) const {
        if (template_ || !overrides_.empty() || trials_ || unit_time_)
            return Error{codes::usage, fmt::format("experiment {} takes no further options", config_),
                         "they belong to the preview of a configuration file"};
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(config_, experiment::SlurmAnswer::optional, session));
        DET_TRY_ASSIGN(auto const description, describe_search(experiment, answer_style_of(session)));
        session.answer(description.json, description.text);
        return ExitCode::done;
    }

    static std::string describe_length(search::Search const& search, Budget const& budget) {
        auto text = fmt::format("Each trains {}{}\n", search.asha() || budget.is_upper_limit ? "up to " : "",
                                escape_control(budget.length.describe()));
        if (search.asha())
            text += fmt::format("Of the trials at a rung the best 1/{} train on\n", search.asha()->divisor);
        return text;
    }

    /// Empty if the configuration does not say how long a trial trains.
    Result<std::optional<Budget>> make_budget(config::ExperimentConfig const& config,
                                              SearcherSpec const& searcher,
                                              search::Search const& search) const {
        auto const length = search::find_training_length(searcher.options);
        bool const is_of_sampler = search::sampler_sets_lengths(searcher);
        if (unit_time_ && (is_of_sampler || !length))
            return Error{codes::usage, "--unit-time needs the length of a training",
                         is_of_sampler ? "leave it out: the sampler says how long each trial trains"
                                       : "set searcher.max_length in the configuration"};
        if (is_of_sampler || !length) return std::optional<Budget>();
        Budget budget{*length, may_prune(searcher)};
        budget.undisturbed = static_cast<double>(length->value) * search.trial_count();
        budget.total = search.asha() ? total_length(*search.asha()) : budget.undisturbed;
        if (unit_time_) {
            constexpr double seconds_per_hour = 3600;
            auto const seconds = parse_duration_s(*unit_time_);
            if (!seconds)
                return Error{codes::usage, fmt::format("'{}' is not a duration", escape_control(*unit_time_)),
                             "give a number and ms, s, m, h or d, as in 90s"};
            auto const slots = std::max<std::int64_t>(config.resources.slots_per_trial, 1);
            budget.slot_hours = budget.total * *seconds * static_cast<double>(slots) / seconds_per_hour;
        }
        return std::optional(std::move(budget));
    }

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
    std::optional<std::string> unit_time_;
};

}  // namespace

std::unique_ptr<Command> make_search_preview() { return std::make_unique<SearchPreview>(); }

}  // namespace det::cli
