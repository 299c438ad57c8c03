#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/sampler/answer.hpp>
#include <det/sampler/request.hpp>

#include <cmath>

namespace det::sampler {
namespace {

std::optional<double> find_best(TrialReport const& trial, bool smaller_is_better) {
    std::optional<double> best;
    for (auto const& [steps, value] : trial.validations) {
        if (std::isfinite(value) && (!best || is_better(value, *best, smaller_is_better))) best = value;
    }
    return best;
}

std::string search_line(ExperimentSpec const& spec, JsonValue const* state) {
    Json searcher = *spec.searcher.options;
    searcher["name"] = spec.searcher.name;
    searcher["metric"] = spec.searcher.metric;
    searcher["smaller_is_better"] = spec.searcher.smaller_is_better;
    Json line{{"sampler", protocol_version},     {"experiment", spec.id.value},
              {"seed", spec.experiment_seed},    {"max_trials", spec.trial_count},
              {"searcher", std::move(searcher)}, {"hyperparameters", spec.hyperparameters}};
    if (state != nullptr) line["state"] = *state;
    return to_line(line);
}

std::string trial_line(TrialReport const& trial, bool smaller_is_better) {
    auto const render = [&](std::size_t first) {
        auto validations = Json::array();
        for (auto i = first; i < trial.validations.size(); ++i)
            validations.push_back(
                {trial.validations[i].steps_completed, number_to_json(trial.validations[i].value)});
        Json json{{"trial", trial.trial},
                  {"state", to_string(trial.progress)},
                  {"hyperparameters", trial.hyperparameters},
                  {"metric", json_or_null(find_best(trial, smaller_is_better))},
                  {"validations", std::move(validations)},
                  {"last_validation", trial.last_validation}};
        if (trial.note) json["note"] = *trial.note;
        return to_line(json);
    };
    auto line = render(0);
    if (line.size() <= line_limit_bytes) return line;
    // A validation takes at most 48 bytes: 20 digits, a number, brackets and commas.
    constexpr std::size_t kept = line_limit_bytes / 2 / 48;
    return render(trial.validations.size() - std::min(kept, trial.validations.size()));
}

}  // namespace

std::string render_request(ExperimentSpec const& spec, std::span<TrialReport const> trials,
                           Request const& request, JsonValue const* state) {
    auto text = search_line(spec, state) + '\n';
    for (auto const& trial : trials) text += trial_line(trial, spec.searcher.smaller_is_better) + '\n';
    return text + to_line(Json{{"question", to_string(request.question)}, {"trial", request.trial}}) + '\n';
}

}  // namespace det::sampler
