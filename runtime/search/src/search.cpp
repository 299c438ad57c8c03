#include <det/foundation/count_text.hpp>
#include <det/protocol/ids.hpp>
#include <det/protocol/json.hpp>
#include <det/search/search.hpp>

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

#include "json_integers.hpp"
#include "methods.hpp"

namespace det::search {
namespace {

/// The random words of a request id, which Determined draws for each trial between its hyperparameters and
/// its seed. det-submit skips them.
constexpr int request_id_words = 4;
constexpr std::uint64_t trial_seeds = std::uint64_t{1} << 31;

Refusals too_many(Method const& method, std::uint64_t trials, Space const& space) {
    auto const limit =
        fmt::format("more than the {} trials that an experiment can have", trials_per_experiment_max);
    if (method.name == "grid") {
        return {{"hyperparameters",
                 Error{codes::bad_value,
                       fmt::format("the grid ({}) has {} points, {}", describe_grid(space),
                                   trials == UINT64_MAX ? "2^64 or more" : std::to_string(trials), limit),
                       "lower a 'count', or use the searcher 'random' with max_trials"}}};
    }
    return {{"searcher.max_trials", Error{codes::bad_value, fmt::format("{} are {}", trials, limit)}}};
}

/// max_concurrent_trials of the configuration, at most `trials`. If it is 0 or absent, `trials`; at least 1.
std::uint32_t concurrent_limit(Json const& options, std::uint32_t trials) {
    std::uint64_t const limit = find_positive(options, "max_concurrent_trials").value_or(trials);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(limit, 1, std::max(trials, 1U)));
}

std::uint32_t draw_seed(NumpyRandom& random) {
    for (int word = 0; word < request_id_words; ++word) random.bits32();
    return static_cast<std::uint32_t>(random.below(trial_seeds));
}

/// Whether two draws of this hyperparameter can differ.
bool varies(Dimension const& dimension) {
    if (auto const* choices = std::get_if<Choices>(&dimension.values))
        return std::ranges::adjacent_find(choices->vals, std::ranges::not_equal_to()) != choices->vals.end();
    return !std::holds_alternative<Constant>(dimension.values);
}

}  // namespace

Result<Search, Refusals> Search::parse(SearcherSpec const& searcher, Json const& hyperparameters,
                                       std::uint32_t experiment_seed) {
    Search search;
    search.experiment_seed_ = experiment_seed;
    auto method = find_method(searcher.name);
    auto space = parse_space(hyperparameters);
    Refusals refusals;
    if (!method) refusals = std::move(method).error();
    if (!space) std::ranges::move(std::move(space).error(), std::back_inserter(refusals));
    if (!refusals.empty()) return refusals;
    search.method_ = *method;
    search.space_ = *std::move(space);
    DET_TRY_ASSIGN(auto const trials, search.method_->count_trials(searcher, search.space_));
    if (trials > trials_per_experiment_max) return too_many(*search.method_, trials, search.space_);
    search.trial_count_ = static_cast<std::uint32_t>(trials);
    search.concurrent_trials_max_ = concurrent_limit(searcher.options, search.trial_count_);
    if (!is_asha(searcher.name)) return search;
    DET_TRY_ASSIGN(search.asha_, plan_asha(searcher));
    search.concurrent_trials_max_ = search.asha_->concurrent_trials();
    return search;
}

bool Search::replaces_invalid_trials() const {
    return method_->replaces_invalid_trials && std::ranges::any_of(space_, varies);
}

std::uint32_t Search::draw_count() const {
    return replaces_invalid_trials() ? trials_per_experiment_max : trial_count_;
}

TrialDraw Search::draw_next(std::uint32_t index, NumpyRandom& random) const {
    TrialDraw draw;
    draw.hyperparameters = method_->next_point(space_, index, trial_count_, random);
    draw.seed = draw_seed(random);
    return draw;
}

TrialDraw Search::draw(std::uint32_t index) const {
    assert(index < draw_count());
    NumpyRandom random(experiment_seed_);
    for (std::uint32_t trial = 0; trial < index; ++trial) {
        method_->skip_point(space_, random);
        draw_seed(random);
    }
    return draw_next(index, random);
}

std::vector<TrialDraw> Search::draw_first(std::uint32_t count) const {
    NumpyRandom random(experiment_seed_);
    std::vector<TrialDraw> draws;
    auto const end = std::min(count, trial_count_);
    draws.reserve(end);
    for (std::uint32_t index = 0; index < end; ++index) draws.push_back(draw_next(index, random));
    return draws;
}

Result<TrialDraw> draw_trial(ExperimentSpec const& spec, std::uint32_t index) {
    auto search = Search::parse(spec.searcher, spec.hyperparameters, spec.experiment_seed);
    if (!search) return std::move(search).error().front().error;
    if (index < search->draw_count()) return search->draw(index);
    return Error{codes::no_such_trial, fmt::format("the searcher makes {}: there is no trial {}",
                                                   count_text(search->trial_count(), "trial"), index)};
}

std::vector<TrialDraw> draw_trials(ExperimentSpec const& spec, std::uint32_t count) {
    auto const search = Search::parse(spec.searcher, spec.hyperparameters, spec.experiment_seed);
    if (!search) return {};
    auto draws = search->draw_first(count);
    for (auto index = static_cast<std::uint32_t>(draws.size()); index < std::min(count, search->draw_count());
         ++index)
        draws.push_back(search->draw(index));
    return draws;
}

bool sampler_sets_lengths(SearcherSpec const& searcher) {
    if (searcher.name != "custom" || !searcher.options->is_object()) return false;
    auto const found = searcher.options->find("sets_lengths");
    return found != searcher.options->end() && *found == Json(true);
}

}  // namespace det::search
