#include "experiment/describe_search.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/sampler/decision_log.hpp>
#include <det/sampler/load_draw.hpp>
#include <det/search/trial_search.hpp>
#include <det/tracker/history/search_view.hpp>

#include <cmath>
#include <fmt/format.h>

#include "experiment/ranked_trials.hpp"
#include "output/table.hpp"
#include "output/trial_text.hpp"

namespace det::cli {
namespace {

using tracker::history::ExperimentView;
using tracker::history::SearchView;

std::string metric_text(double metric, AnswerStyle const& style) {
    return std::isnan(metric) ? "failed" : style.number(metric);
}

Json metric_json(double metric) { return std::isfinite(metric) ? Json(metric) : Json(nullptr); }

std::string rungs_table(SearchView const& view, AnswerStyle const& style) {
    Table table({"Bracket", "Rung", "Length", "Arrived", "Train On", "Cut-off", "Stopped"});
    for (std::size_t i = 0; i < view.brackets.size(); ++i) {
        auto const& rungs = view.brackets[i].rungs;
        for (std::size_t number = 0; number < rungs.size(); ++number) {
            auto const& rung = rungs[number];
            table.add({number == 0 ? std::to_string(i) : "", std::to_string(number),
                       std::to_string(rung.length), std::to_string(rung.entries.size()),
                       number + 1 == rungs.size() ? "" : std::to_string(rung.kept_trials),
                       rung.cut_off && number + 1 < rungs.size() ? metric_text(*rung.cut_off, style) : "",
                       std::to_string(rung.stopped_trials)});
        }
    }
    return table.render(style);
}

/// A row for each decision that ended a trial: what it was based on. Empty if the search has ended no trial.
std::string ends_table(ExperimentView const& view, AnswerStyle const& style) {
    Table table({"Trial", "Bracket", "Rung", "Steps", "Metric", "Decision", "Because", "Among"});
    bool has_rows = false;
    for (auto const& trial : view.trials) {
        for (auto const& decision : tracker::history::decisions_of(trial.record)) {
            if (decision.decision == to_string(search::RungDecision::advance)) continue;
            has_rows = true;
            auto const entry = search::parse_rung_entry_name(decision.entry);
            table.add({to_string(trial.record.id), std::to_string(decision.bracket),
                       std::to_string(decision.rung), std::to_string(decision.steps_completed),
                       entry ? metric_text(entry->metric, style) : "", decision.decision,
                       search::describe(decision), decision.trials});
        }
    }
    return has_rows ? '\n' + table.render(style) : "";
}

std::string list_trial_numbers(std::vector<std::uint32_t> const& trials) {
    std::vector<std::string> names;
    for (auto const trial : trials) names.push_back(std::to_string(trial));
    return join(names, ", ");
}

/// What a decision of a sampler says.
std::string sampler_answer_text(sampler::Answer const& answer, AnswerStyle const& style) {
    std::string text;
    if (answer.hyperparameters) text = describe_hyperparameters(**answer.hyperparameters, style.number);
    if (answer.stop) text = "stop: " + *answer.stop;
    auto const add = [&](std::string const& what) { text += (text.empty() ? "" : "; ") + what; };
    for (auto const& [trial, length] : answer.lengths) add(fmt::format("train {} to {}", trial, length));
    if (!answer.close.empty()) add("close " + list_trial_numbers(answer.close));
    if (!answer.prune.empty()) add("prune " + list_trial_numbers(answer.prune));
    return text;
}

std::string sampler_decisions_table(sampler::Decisions const& decisions, AnswerStyle const& style) {
    Table table({"Decision", "Time", "Job", "Trial", "Question", "Answer"}, {"Job", "Time"});
    std::size_t number = 0;
    for (auto const& each : decisions.all)
        table.add({std::to_string(number++), style.time(each.time), each.job, std::to_string(each.trial),
                   std::string(to_string(each.question)), sampler_answer_text(each.answer, style)});
    return table.render(style);
}

Json sampler_decisions_json(sampler::Decisions const& decisions) {
    auto json = Json::array();
    for (auto const& each : decisions.all) {
        Json decision{{"time", format_utc(each.time)},
                      {"job", each.job},
                      {"trial", each.trial},
                      {"question", to_string(each.question)},
                      {"prune", each.answer.prune}};
        decision["hyperparameters"] =
            each.answer.hyperparameters ? **each.answer.hyperparameters : Json(nullptr);
        decision["stop"] = each.answer.stop ? Json(*each.answer.stop) : Json(nullptr);
        decision["close"] = each.answer.close;
        decision["lengths"] = Json::object();
        for (auto const& [index, length] : each.answer.lengths)
            decision["lengths"][std::to_string(index)] = length;
        json.push_back(std::move(decision));
    }
    return json;
}

std::string describe_best(std::optional<RankedTrial> const& best, ExperimentSpec const& spec,
                          AnswerStyle const& style) {
    if (!best) return "";
    return fmt::format("Best trial:    {}, {} {} at step {}\n", to_string(best->view->record.id),
                       escape_control(spec.searcher.metric), style.number(best->validation.value),
                       best->validation.steps_completed);
}

std::string as_text(ExperimentView const& view, ExperimentSpec const& spec,
                    std::optional<RankedTrial> const& best, std::optional<SearchView> const& search,
                    AnswerStyle const& style) {
    auto text = fmt::format("Experiment {}: {}\nSearcher:      {}, {} of {}\n", view.record.id.value,
                            to_string(view.state), spec.searcher.name,
                            spec.searcher.smaller_is_better ? "smallest" : "largest",
                            escape_control(spec.searcher.metric));
    text += describe_best(best, spec, style);
    if (sampler::is_custom(spec)) return text + "Decisions:     by the sampler of searcher.command\n";
    if (!search) return text + "Rungs:         none: this searcher stops no trials\n";
    text += fmt::format("Length:        {}; of the trials at a rung the best 1/{} train on\n",
                        escape_control(search->search.length.describe()), search->search.divisor);
    text += fmt::format("Progress:      {:.0f} %\n\n", 100 * search->progress);
    return text + rungs_table(*search, style) + ends_table(view, style);
}

Json rungs_json(tracker::history::BracketView const& bracket) {
    auto rungs = Json::array();
    for (auto const& rung : bracket.rungs) {
        auto entries = Json::array();
        for (auto const& entry : rung.entries)
            entries.push_back({{"trial", entry.trial}, {"metric", metric_json(entry.metric)}});
        rungs.push_back({{"length", rung.length},
                         {"entries", std::move(entries)},
                         {"kept_trials", rung.kept_trials},
                         {"cut_off", rung.cut_off ? metric_json(*rung.cut_off) : Json(nullptr)},
                         {"stopped_trials", rung.stopped_trials}});
    }
    return rungs;
}

Json decisions_json(ExperimentView const& view) {
    auto decisions = Json::array();
    for (auto const& trial : view.trials) {
        for (auto const& decision : tracker::history::decisions_of(trial.record)) {
            auto json = to_json(Record(decision));
            json.erase("record");
            json["trial"] = trial.record.id.index;
            decisions.push_back(std::move(json));
        }
    }
    return decisions;
}

Json as_json(ExperimentView const& view, ExperimentSpec const& spec, std::optional<RankedTrial> const& best,
             std::optional<SearchView> const& search) {
    Json json{{"id", view.record.id.value},     {"state", to_string(view.state)},
              {"searcher", spec.searcher.name}, {"metric", spec.searcher.metric},
              {"best_trial", nullptr},          {"progress", search ? Json(search->progress) : Json(nullptr)},
              {"brackets", Json::array()},      {"decisions", decisions_json(view)}};
    if (best) {
        json["best_trial"] = {{"id", to_integer(best->view->record.id)},
                              {"name", to_string(best->view->record.id)},
                              {"value", best->validation.value},
                              {"steps_completed", best->validation.steps_completed}};
    }
    if (!search) return json;
    for (auto const& bracket : search->brackets)
        json["brackets"].push_back(
            {{"trials", bracket.trials}, {"progress", bracket.progress}, {"rungs", rungs_json(bracket)}});
    return json;
}

}  // namespace

Result<std::optional<tracker::history::SearchView>> load_search_view(
    tracker::history::ExperimentView const& view, ExperimentSpec const& spec,
    tracker::history::History& history) {
    if (!search::is_asha(spec.searcher.name)) return std::optional<tracker::history::SearchView>();
    auto asha = search::plan_asha(spec.searcher);
    if (!asha) return std::move(asha).error().front().error;
    tracker::history::RungEntries entries(asha->brackets.size());
    for (std::uint32_t bracket = 0; bracket < entries.size(); ++bracket) {
        auto const rungs = asha->brackets[bracket].rung_lengths.size();
        for (std::uint32_t rung = 0; rung < rungs; ++rung) {
            DET_TRY_ASSIGN(auto of_rung, history.load_rung(view.record.id, bracket, rung));
            entries[bracket].push_back(std::move(of_rung));
        }
    }
    return std::optional(tracker::history::view_search(*std::move(asha), entries, view));
}

Result<SearchDescription> describe_search(experiment::OpenExperiment const& experiment,
                                          AnswerStyle const& style) {
    auto const& view = experiment.view;
    if (!view.record.spec)
        return Error{
            codes::wrong_state,
            fmt::format("experiment {} has no search: its creation was interrupted", view.record.id.value)};
    auto const& spec = *view.record.spec;
    auto& history = *experiment.history;
    DET_TRY_ASSIGN(auto const ranked, rank_trials(view, history));
    auto const best = ranked.empty() ? std::nullopt : std::optional(ranked.front());
    DET_TRY_ASSIGN(auto const search, load_search_view(view, spec, history));
    SearchDescription description{as_text(view, spec, best, search, style),
                                  as_json(view, spec, best, search)};
    if (!sampler::is_custom(spec)) return description;
    DET_TRY_ASSIGN(auto const decisions, sampler::load_decisions(experiment.layout));
    description.text += '\n' + sampler_decisions_table(decisions, style);
    description.json["sampler"] = sampler_decisions_json(decisions);
    return description;
}

}  // namespace det::cli
