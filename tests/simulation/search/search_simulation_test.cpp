#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <random>

#include "check_decision.hpp"
#include "search_run.hpp"
#include "seeds.hpp"

using namespace det;
using namespace det::simulation;

namespace search_simulation {

constexpr FaultRates some_faults{0.05, 0.05};

struct Settings {
    std::string mode = "standard";
    std::uint64_t length = 1000;
    std::uint32_t trials = 100;
    std::uint32_t concurrent = 16;
    double divisor = 4;
    std::uint32_t rungs = 5;
};

search::AshaSearch plan(Settings const& settings) {
    Json const options{{"mode", settings.mode},         {"max_length", {{"batches", settings.length}}},
                       {"max_trials", settings.trials}, {"max_concurrent_trials", settings.concurrent},
                       {"divisor", settings.divisor},   {"max_rungs", settings.rungs}};
    auto planned = search::plan_asha({"adaptive_asha", "loss", true, options});
    BOOST_REQUIRE(planned.has_value());
    return *std::move(planned);
}

Jobs jobs_of(search::AshaSearch const& search, std::uint64_t length, std::uint32_t seed) {
    Jobs jobs;
    jobs.trials = search.trial_count();
    jobs.reports_max = length;
    jobs.seed = seed;
    return jobs;
}

std::string brackets_text(std::vector<ReferenceBracket> const& brackets) {
    std::string text;
    for (auto const& bracket : brackets) {
        text += fmt::format("({}: {}, {})", bracket.trials, bracket.concurrent_trials,
                            bracket.rung_lengths.size());
        for (auto const length : bracket.rung_lengths) text += fmt::format(" {}", length);
    }
    return text;
}

std::vector<ReferenceBracket> as_reference(std::vector<search::Bracket> const& brackets) {
    std::vector<ReferenceBracket> converted;
    for (auto const& bracket : brackets) {
        converted.push_back({{bracket.rung_lengths.begin(), bracket.rung_lengths.end()},
                             bracket.trials,
                             bracket.concurrent_trials});
    }
    return converted;
}

Settings random_settings(std::mt19937& random) {
    auto const below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    constexpr char const* modes[] = {"aggressive", "standard", "conservative"};
    constexpr double divisors[] = {2, 3, 4, 2.5, 1.5};
    return {modes[below(3)],    1 + below(below(2) == 0 ? 20 : 1000),
            1 + below(60),      1 + below(20),
            divisors[below(5)], 1 + below(6)};
}

}  // namespace search_simulation

BOOST_AUTO_TEST_SUITE(search_simulation)

using namespace ::search_simulation;

BOOST_AUTO_TEST_CASE(the_reference_ends_trials_where_determined_does) {
    auto const ends = [](std::vector<double> const& losses) {
        ReferenceAsha reference({100, 300, 900}, 3);
        std::vector<int> lengths;
        for (std::uint32_t trial = 0; trial < losses.size(); ++trial) {
            for (int const length : {100, 300, 900}) {
                if (reference.on_validation(trial, length, losses[trial]) == ReferenceAnswer::trains_on)
                    continue;
                lengths.push_back(length);
                break;
            }
        }
        return lengths;
    };
    using Ends = std::vector<int>;
    BOOST_TEST(
        (ends({.5, .4, .6, .3, .45, .35, .31, .9, .2}) == Ends{900, 900, 100, 900, 100, 300, 300, 100, 900}));
    BOOST_TEST(
        (ends({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) == Ends{900, 100, 100, 100, 100, 100, 100, 100, 100, 100}));
    BOOST_TEST((ends({5, 4, 3}) == Ends{900, 900, 900}));
    BOOST_TEST((ends({1, 1, 1}) == Ends{900, 900, 900}));
    ReferenceAsha reference({100, 300, 900}, 3);
    BOOST_TEST((reference.on_validation(0, 350, .5) == ReferenceAnswer::trains_on));
    BOOST_TEST((reference.on_validation(1, 350, .6) == ReferenceAnswer::stops));
}

BOOST_AUTO_TEST_CASE(learning_curves_cross_and_early_losses_tell_something_about_late_ones) {
    auto const curves = draw_curves(18, 400, {});
    double pairs = 0, crossing = 0;
    for (std::size_t a = 0; a < curves.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            auto const early = curves[a].loss_at(15) - curves[b].loss_at(15);
            auto const late = curves[a].loss_at(1000) - curves[b].loss_at(1000);
            if (std::isnan(early) || std::isnan(late)) continue;
            pairs += 1;
            crossing += (early < 0) != (late < 0) ? 1 : 0;
        }
    }
    BOOST_TEST_MESSAGE(fmt::format("{:.0f} % of the pairs cross", 100 * crossing / pairs));
    BOOST_TEST(crossing / pairs > 0.15);
    BOOST_TEST(crossing / pairs < 0.35);
}

BOOST_AUTO_TEST_CASE(brackets_are_those_of_the_reference) {
    constexpr std::uint32_t seed = 18;
    std::mt19937 random(seed);
    for (int i = 0; i < 2000; ++i) {
        auto const s = random_settings(random);
        auto const reference = make_reference_brackets(s.mode, static_cast<double>(s.length), s.trials,
                                                       s.concurrent, s.divisor, s.rungs);
        auto const own = as_reference(plan(s).brackets);
        BOOST_REQUIRE_EQUAL(brackets_text(own), brackets_text(reference));
    }
}

BOOST_AUTO_TEST_CASE(decisions_are_those_of_the_reference_if_trials_arrive_one_after_the_other) {
    auto const seeds = chosen_seeds(0, 200);
    for (auto seed = seeds.begin; seed < seeds.end; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            auto const settings = random_settings(random);
            auto const search = plan(settings);
            auto const curves = draw_curves(seed, 2 * search.trial_count() + 20, some_faults);
            auto jobs = jobs_of(search, settings.length, seed);
            // One trial trains after the other, or several train at the same time and one is decided about
            // after the other.
            jobs.concurrent_trials = seed % 2 == 0 ? 1 : settings.concurrent;
            ReferenceJudge reference(search);
            TrialSearchJudge judge(search, {});
            auto const expected = run_search(curves, jobs, reference);
            auto const result = run_search(curves, jobs, judge);
            BOOST_TEST((result.reports_of == expected.reports_of));
            BOOST_TEST(result.failed == expected.failed);
            BOOST_TEST(result.invalid == expected.invalid);
            BOOST_TEST(result.ended == search.trial_count());
        }
    }
}

BOOST_AUTO_TEST_CASE(ten_thousand_concurrent_trials_use_the_budget_of_the_reference) {
    auto const begin = std::chrono::steady_clock::now();
    auto const seed = chosen_seeds(18, 1).begin;
    Settings const settings{.trials = 10'000, .concurrent = 64};
    auto const search = plan(settings);
    auto const curves = draw_curves(seed, 12'000, {0.02, 0.01});
    auto jobs = jobs_of(search, settings.length, seed);
    jobs.concurrent_trials = settings.concurrent;
    jobs.decision_delay_max_s = 1;
    TrialSearchJudge judge(search, {.late_share = 0.1, .delay_max_s = 60, .seed = seed});
    auto const result = run_search(curves, jobs, judge);
    BOOST_TEST(result.ended == settings.trials);
    DecisionChecker const checker(judge.rungs(), search);
    for (std::size_t i = 0; i < judge.decisions().size(); i += 25)
        BOOST_TEST(checker.objection(judge.decisions()[i]) == "");

    // A reference that sees each report at once, while trials start at the same times. With other times, the
    // order of arrival differs, and with it, by chance, the number of trials that train to the end.
    jobs.starts_s = result.starts_s;
    jobs.decision_delay_max_s = 0;
    ReferenceJudge reference(search);
    auto const expected = run_search(curves, jobs, reference);
    BOOST_TEST(result.budget_s / expected.budget_s > 0.98);
    BOOST_TEST(result.budget_s / expected.budget_s < 1.02);

    auto one_by_one = jobs_of(search, settings.length, seed);
    ReferenceJudge sequential(search);
    auto const other = run_search(curves, one_by_one, sequential);
    auto const took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    BOOST_TEST_MESSAGE(
        fmt::format("seed {}: {} trials, {} reports, {} decisions; budget / budget of the reference "
                    "{:.4f}, if it runs one trial after the other {:.4f}; {:.1f} s",
                    seed, result.ended, result.reports, judge.decisions().size(),
                    result.budget_s / expected.budget_s, result.budget_s / other.budget_s, took));
}

BOOST_AUTO_TEST_SUITE_END()
