// Computes the brackets of a search by successive halving from its configuration. The result is stored
// nowhere: each process that needs it, on the login node or in a job, computes it again. So it depends on the
// searcher section of the specification only, and trial i is in the same bracket in every process.
//
// The arithmetic is Determined's (master/pkg/searcher/adaptive_asha.go and asha_stopping.go), in double
// precision and in the same order, because rounding decides: log(1000)/log(10) is 2.9999999999999996 there,
// so a length of 1000 with the divisor 10 has 3 rungs and not 4. asha_test has the values of Determined's own
// tests. Limits that Determined does not have: 64 rungs, 64 brackets and trials_per_experiment_max trials.
//
// - Rungs: a bracket with r rungs compares trials at max_length / divisor^(r-1), ..., max_length / divisor,
//   max_length. The integer part counts, and at least 1.
// - Trials: a bracket with r rungs has the weight divisor^(r-1) / r. Each bracket gets its share, rounded
//   down, and at least one trial; the first bracket gets what is left. If many brackets get the minimum of
//   one, the sum is larger than max_trials.
// - Assignment: smooth weighted round robin (nginx commit 27e94984486058d73157038f7950a0a36ecc6e35). For each
//   trial, every bracket gains a credit of its number of trials, and the bracket with the highest credit
//   takes the trial and loses the total number of trials. So the credits add up to zero after each trial, and
//   each of them is zero after the last trial: each bracket has exactly its number.
//
// Only the variant that stops trials exists here. A trial that paused until a later promotion would keep its
// nodes or lose its place in Slurm's queue.
#include <det/protocol/ids.hpp>
#include <det/protocol/json.hpp>
#include <det/search/asha.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numeric>

#include "json_integers.hpp"

namespace det::search {
namespace {

constexpr std::uint64_t rungs_max = 64;
constexpr std::size_t brackets_max = 64;

/// The keys of the searcher section that determine the brackets.
struct AshaOptions {
    std::uint64_t max_trials = 0;
    std::uint64_t max_concurrent_trials = 0;  // 0: no limit
    double divisor = 4;
    TrainingLength length;
};

Refusals refuse(char const* key, std::string message, std::string hint = {}) {
    auto const path = fmt::format("searcher.{}", key);
    return {{path, Error{codes::bad_value, fmt::format("{} {}", path, message), std::move(hint)}}};
}

Result<AshaOptions, Refusals> parse_options(Json const& json) {
    AshaOptions options;
    auto const trials = find_positive(json, "max_trials");
    if (!trials || *trials > trials_per_experiment_max)
        return refuse("max_trials",
                      fmt::format("must be an integer from 1 to {}", trials_per_experiment_max));
    options.max_trials = *trials;
    options.max_concurrent_trials = find_positive(json, "max_concurrent_trials").value_or(0);
    options.divisor = json.contains("divisor") ? json.at("divisor").get<double>() : options.divisor;
    if (!(options.divisor > 1) || !std::isfinite(options.divisor))
        return refuse("divisor", "must be greater than 1");
    auto const length = find_training_length(json);
    if (!length)
        return refuse("max_length", "does not say how long a trial trains",
                      "add 'max_length: {batches: ...}', or 'time_metric: ...' and 'max_time: ...'");
    options.length = *length;
    return options;
}

/// \return How often the value can be divided until it is below 1, at most `limit`. Computes in double
/// precision, as Determined does.
std::uint64_t divisions(std::uint64_t value, double divisor, std::uint64_t limit) {
    auto const count = std::floor(std::log(static_cast<double>(value)) / std::log(divisor)) + 1;
    return count < static_cast<double>(limit) ? static_cast<std::uint64_t>(count) : limit;
}

/// The number of rungs of the bracket with fewest rungs, if the bracket with most rungs has `most`.
std::uint64_t fewest_rungs(std::string const& mode, std::uint64_t most) {
    if (mode == "aggressive") return most;
    return mode == "conservative" ? 1 : (most - 1) / 2 + 1;
}

Result<std::vector<std::uint64_t>, Refusals> parse_bracket_rungs(Json const& list) {
    std::vector<std::uint64_t> rungs;
    for (auto const& item : list) {
        auto const number = as_integer(item);
        if (!number || *number < 1 || static_cast<std::uint64_t>(*number) > rungs_max)
            return refuse("bracket_rungs", fmt::format("must be integers from 1 to {}", rungs_max));
        rungs.push_back(static_cast<std::uint64_t>(*number));
    }
    if (rungs.size() > brackets_max)
        return refuse("bracket_rungs", fmt::format("has more than {} brackets", brackets_max));
    return rungs;
}

/// The number of rungs of each bracket, descending.
Result<std::vector<std::uint64_t>, Refusals> rungs_of_brackets(Json const& json, AshaOptions const& options) {
    std::vector<std::uint64_t> rungs;
    if (auto const listed = json.find("bracket_rungs"); listed != json.end() && listed->is_array()) {
        DET_TRY_ASSIGN(rungs, parse_bracket_rungs(*listed));
    }
    if (rungs.empty()) {
        auto const configured = std::min(find_positive(json, "max_rungs").value_or(5), rungs_max);
        auto const most = std::min({configured, divisions(options.length.value, options.divisor, rungs_max),
                                    divisions(options.max_trials, options.divisor, rungs_max)});
        rungs.resize(most - fewest_rungs(json.value("mode", "standard"), most) + 1);
        std::iota(rungs.rbegin(), rungs.rend(), most - rungs.size() + 1);
    }
    std::ranges::sort(rungs, std::greater<>());
    return rungs;
}

std::vector<std::uint64_t> rung_lengths(std::uint64_t max_length, double divisor, std::uint64_t rungs) {
    std::vector<std::uint64_t> lengths(rungs);
    for (std::uint64_t rung = 0; rung < rungs; ++rung) {
        auto const length =
            static_cast<double>(max_length) / std::pow(divisor, static_cast<double>(rungs - 1 - rung));
        lengths[rung] = rung == rungs - 1 ? max_length : std::max<std::uint64_t>(std::uint64_t(length), 1);
    }
    return lengths;
}

/// Brackets with more rungs stop more trials early, so they get more trials.
void distribute_trials(AshaOptions const& options, std::vector<Bracket>& brackets) {
    std::vector<double> weights;
    for (auto const& bracket : brackets) {
        auto const rungs = static_cast<double>(bracket.rung_lengths.size());
        weights.push_back(std::pow(options.divisor, rungs - 1) / rungs);
    }
    auto const sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::uint64_t distributed = 0;
    for (std::size_t i = 0; i < brackets.size(); ++i) {
        auto const share = weights[i] / sum * static_cast<double>(options.max_trials);
        brackets[i].trials = std::max<std::uint32_t>(static_cast<std::uint32_t>(share), 1);
        distributed += brackets[i].trials;
    }
    if (options.max_trials > distributed)
        brackets.front().trials += static_cast<std::uint32_t>(options.max_trials - distributed);
}

void distribute_concurrent_trials(AshaOptions const& options, std::vector<Bracket>& brackets) {
    auto const count = brackets.size();
    auto const unlimited = std::max<std::uint64_t>(brackets.back().trials, std::uint64_t(options.divisor));
    auto const limit = std::clamp<std::uint64_t>(options.max_concurrent_trials, count,
                                                 std::max<std::uint64_t>(count, trials_per_experiment_max));
    for (std::size_t i = 0; i < count; ++i) {
        auto const share = limit / count + (i < limit % count ? 1 : 0);
        brackets[i].concurrent_trials =
            static_cast<std::uint32_t>(options.max_concurrent_trials == 0 ? unlimited : share);
    }
}

Result<std::vector<Bracket>, Refusals> plan_adaptive(Json const& json, AshaOptions const& options) {
    DET_TRY_ASSIGN(auto const rungs, rungs_of_brackets(json, options));
    std::vector<Bracket> brackets;
    for (auto const count : rungs)
        brackets.push_back({rung_lengths(options.length.value, options.divisor, count), 0, 0});
    distribute_trials(options, brackets);
    distribute_concurrent_trials(options, brackets);
    return brackets;
}

Result<std::vector<Bracket>, Refusals> plan_single_bracket(Json const& json, AshaOptions const& options) {
    auto const rungs = find_positive(json, "num_rungs");
    if (!rungs || *rungs > rungs_max)
        return refuse("num_rungs", fmt::format("must be an integer from 1 to {}", rungs_max));
    Bracket bracket{rung_lengths(options.length.value, options.divisor, *rungs), 0, 0};
    bracket.trials = static_cast<std::uint32_t>(options.max_trials);
    auto const all_rungs = std::pow(options.divisor, static_cast<double>(*rungs - 1));
    auto const unlimited = std::clamp(all_rungs, 1.0, static_cast<double>(options.max_trials));
    auto const limit = std::min(options.max_concurrent_trials, options.max_trials);
    bracket.concurrent_trials = static_cast<std::uint32_t>(
        options.max_concurrent_trials == 0 ? static_cast<std::uint64_t>(unlimited) : limit);
    return std::vector{bracket};
}

/// \return The mean number of trials that train on, out of the first `arrivals` trials at a rung. The k-th
/// trial to arrive has each rank among the first k with the same probability.
double expected_to_advance(double arrivals, double divisor) {
    double advance = 0;
    for (double k = 1; k <= arrivals; ++k) advance += std::max(std::floor(k / divisor), 1.0) / k;
    return advance;
}

}  // namespace

std::vector<double> expected_arrivals(Bracket const& bracket, double divisor) {
    std::vector<double> arrivals;
    for (std::size_t rung = 0; rung < bracket.rung_lengths.size(); ++rung)
        arrivals.push_back(rung == 0 ? bracket.trials
                                     : expected_to_advance(std::round(arrivals.back()), divisor));
    return arrivals;
}

bool is_asha(std::string_view searcher_name) {
    return searcher_name == "adaptive_asha" || searcher_name == "async_halving";
}

std::uint32_t AshaSearch::trial_count() const {
    return std::accumulate(brackets.begin(), brackets.end(), 0U,
                           [](auto sum, auto const& bracket) { return sum + bracket.trials; });
}

std::uint32_t AshaSearch::concurrent_trials() const {
    auto const sum =
        std::accumulate(brackets.begin(), brackets.end(), std::uint64_t{0},
                        [](auto total, auto const& bracket) { return total + bracket.concurrent_trials; });
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, trial_count()));
}

Result<AshaSearch, Refusals> plan_asha(SearcherSpec const& searcher) {
    Json const& json = searcher.options;
    DET_TRY_ASSIGN(auto const options, parse_options(json));
    AshaSearch search;
    search.divisor = options.divisor;
    search.smaller_is_better = searcher.smaller_is_better;
    search.length = options.length;
    auto const plan = searcher.name == "async_halving" ? plan_single_bracket : plan_adaptive;
    DET_TRY_ASSIGN(search.brackets, plan(json, options));
    return search;
}

BracketAssignment::BracketAssignment(AshaSearch const& search) {
    auto const total = static_cast<std::int64_t>(search.trial_count());
    std::vector<std::int64_t> credits(search.brackets.size(), 0);
    brackets_.reserve(static_cast<std::size_t>(total));
    for (std::int64_t trial = 0; trial < total; ++trial) {
        for (std::size_t i = 0; i < credits.size(); ++i) credits[i] += search.brackets[i].trials;
        auto const next = std::ranges::max_element(credits);
        *next -= total;
        brackets_.push_back(static_cast<std::uint8_t>(next - credits.begin()));
    }
}

}  // namespace det::search
