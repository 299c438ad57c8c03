#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/dump.hpp>
#include <det/tracker/history/record_json.hpp>

#include <set>

namespace det::tracker::history {
namespace {

Json error_json(Error const& error) { return {{"code", error.code.name}, {"message", error.message}}; }

void add_line(std::string& out, Json const& json) { out += to_line(json) + '\n'; }

void dump_trial(std::string& out, History& history, TrialId id, ExperimentSpec const& spec) {
    auto const name = to_string(id);
    if (auto const runs = history.load_reports(id)) {
        for (auto const& run : *runs) add_line(out, {{"trial", name}, {"reports", to_json(run)}});
    } else {
        add_line(out, {{"trial", name}, {"reports_error", error_json(runs.error())}});
    }
    auto const best = history.load_best_validation(id, spec);
    if (!best) {
        add_line(out, {{"trial", name}, {"best_error", error_json(best.error())}});
    } else if (*best) {
        add_line(out, {{"trial", name}, {"best", (*best)->value}, {"steps", (*best)->steps_completed}});
    }
}

/// The rungs about which the search has decided.
std::set<std::pair<std::uint32_t, std::uint32_t>> rungs_of(ExperimentRecord const& experiment) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> rungs;
    for (auto const& trial : experiment.trials) {
        for (auto const& run : trial.runs)
            for (auto const& decision : run.decisions) rungs.insert({decision.bracket, decision.rung});
    }
    return rungs;
}

void dump_rung(std::string& out, History& history, ExperimentId id, std::uint32_t bracket,
               std::uint32_t rung) {
    Json line{{"bracket", bracket}, {"rung", rung}};
    if (auto const entries = history.load_rung(id, bracket, rung)) {
        line["entries"] = Json::array();
        for (auto const& entry : *entries) line["entries"].push_back({entry.trial, entry.metric});
    } else {
        line["error"] = error_json(entries.error());
    }
    add_line(out, line);
}

}  // namespace

std::string dump_experiment(History& history, ExperimentId id) {
    std::string out;
    auto const experiment = history.load_experiment(id);
    if (!experiment) {
        add_line(out, {{"experiment", id.value}, {"error", error_json(experiment.error())}});
        return out;
    }
    add_line(out, to_json(*experiment));
    for (auto const& trial : experiment->trials) dump_trial(out, history, trial.id, *experiment->spec);
    for (auto const& [bracket, rung] : rungs_of(*experiment)) dump_rung(out, history, id, bracket, rung);
    return out;
}

}  // namespace det::tracker::history
