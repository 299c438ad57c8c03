#include <det/protocol/json.hpp>
#include <det/sampler/decision_log.hpp>
#include <det/sampler/load_draw.hpp>

namespace det::sampler {

bool is_custom(ExperimentSpec const& spec) { return spec.searcher.name == "custom"; }

Result<search::TrialDraw> load_draw(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                    std::uint32_t trial) {
    auto draw = search::draw_trial(spec, trial);
    if (!draw || !is_custom(spec)) return draw;
    DET_TRY_ASSIGN(auto const begin, find_begin(experiment, trial));
    if (begin && begin->answer.hyperparameters) draw->hyperparameters = *begin->answer.hyperparameters;
    return draw;
}

Result<std::vector<search::TrialDraw>> load_draws(ExperimentLayout const& experiment,
                                                  ExperimentSpec const& spec, std::uint32_t count) {
    auto draws = search::draw_trials(spec, count);
    if (!is_custom(spec)) return draws;
    DET_TRY_ASSIGN(auto const decisions, load_decisions(experiment));
    for (auto const& each : decisions.all) {
        if (each.trial < draws.size() && each.answer.hyperparameters)
            draws[each.trial].hyperparameters = *each.answer.hyperparameters;
    }
    return draws;
}

}  // namespace det::sampler
