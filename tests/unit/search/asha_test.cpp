#include <det/search/asha.hpp>

#include <algorithm>
#include <numeric>

#include "search_support.hpp"

using namespace det;
using namespace det::search;

namespace asha_test {

Json adaptive(std::string const& mode, std::uint64_t length, std::uint64_t trials, std::uint64_t concurrent,
              double divisor, std::uint64_t rungs) {
    return {{"name", "adaptive_asha"}, {"mode", mode},       {"max_length", {{"batches", length}}},
            {"max_trials", trials},    {"divisor", divisor}, {"max_concurrent_trials", concurrent},
            {"max_rungs", rungs}};
}

Result<AshaSearch, Refusals> plan(Json const& options) {
    return plan_asha({options.at("name"), "loss", true, options});
}

AshaSearch planned(Json const& options) {
    auto search = plan(options);
    if (!search) BOOST_FAIL(search.error().front().error.message);
    return *std::move(search);
}

/// "(4,70,6) (3,22,5)": rungs, trials and concurrent trials of each bracket.
std::string brackets_of(Json const& options) {
    std::string text;
    for (auto const& bracket : planned(options).brackets) {
        text += (text.empty() ? "(" : " (") + std::to_string(bracket.rung_lengths.size()) + "," +
                std::to_string(bracket.trials) + "," + std::to_string(bracket.concurrent_trials) + ")";
    }
    return text;
}

std::string rungs_of(std::uint64_t rungs, std::uint64_t length, double divisor) {
    auto const search = planned({{"name", "async_halving"},
                                 {"num_rungs", rungs},
                                 {"max_length", length},
                                 {"max_trials", 10},
                                 {"divisor", divisor}});
    std::string text;
    for (auto const units : search.brackets.front().rung_lengths)
        text += (text.empty() ? "" : ",") + std::to_string(units);
    return text;
}

std::string refusal_of(Json const& options) {
    auto const search = plan(options);
    BOOST_REQUIRE_MESSAGE(!search.has_value(), options.dump());
    return search.error().front().path + ": " + search.error().front().error.message;
}

}  // namespace asha_test

BOOST_AUTO_TEST_SUITE(asha_test)

BOOST_AUTO_TEST_CASE(brackets_are_those_of_determined) {
    BOOST_TEST(brackets_of(adaptive("standard", 100, 100, 16, 4, 5)) == "(4,70,6) (3,22,5) (2,8,5)");
    BOOST_TEST(brackets_of(adaptive("aggressive", 1000, 64, 16, 4, 5)) == "(4,64,16)");
    BOOST_TEST(brackets_of(adaptive("standard", 1000, 500, 16, 4, 5)) == "(5,354,6) (4,110,5) (3,36,5)");
    BOOST_TEST(brackets_of(adaptive("standard", 1000, 500, 0, 4, 5)) == "(5,354,36) (4,110,36) (3,36,36)");
    BOOST_TEST(brackets_of(adaptive("conservative", 16, 16, 0, 4, 5)) == "(3,12,4) (2,3,4) (1,1,4)");
    BOOST_TEST(brackets_of(adaptive("standard", 3, 50, 16, 4, 5)) == "(1,50,16)");
    BOOST_TEST(brackets_of(adaptive("standard", 900, 5, 16, 3, 2)) == "(2,3,8) (1,2,8)");
    BOOST_TEST(brackets_of(adaptive("conservative", 1000, 10, 5, 3, 5)) == "(3,7,2) (2,2,2) (1,1,1)");
    BOOST_TEST(brackets_of(adaptive("standard", 100, 10, 2, 4, 5)) == "(2,7,1) (1,3,1)");
}

BOOST_AUTO_TEST_CASE(configured_bracket_rungs_replace_the_mode) {
    auto const with = [](std::vector<int> const& rungs, std::uint64_t trials, double divisor,
                         std::uint64_t concurrent) {
        auto options = adaptive("standard", 1000, trials, concurrent, divisor, 5);
        options["bracket_rungs"] = rungs;
        return brackets_of(options);
    };
    BOOST_TEST(with({3, 2, 1}, 20, 3, 11) == "(3,12,4) (2,5,4) (1,3,3)");
    BOOST_TEST(with({3, 4}, 50, 3, 0) == "(4,35,15) (3,15,15)");
    BOOST_TEST(with({3, 2}, 50, 4, 0) == "(3,37,13) (2,13,13)");
    BOOST_TEST(with({4, 3, 2}, 100, 4, 0) == "(4,70,8) (3,22,8) (2,8,8)");
    BOOST_TEST(with({1, 1, 1}, 2, 4, 1) == "(1,1,1) (1,1,1) (1,1,1)");
    BOOST_TEST(with({2}, 1, 7.9, 0) == "(2,1,7)");
}

BOOST_AUTO_TEST_CASE(rung_lengths_are_those_of_determined) {
    BOOST_TEST(rungs_of(5, 1000, 4) == "3,15,62,250,1000");
    BOOST_TEST(rungs_of(4, 100, 4) == "1,6,25,100");
    BOOST_TEST(rungs_of(5, 10, 4) == "1,1,1,2,10");
    BOOST_TEST(rungs_of(2, 100, 4) == "25,100");
    BOOST_TEST(rungs_of(3, 9, 3) == "1,3,9");
    BOOST_TEST(rungs_of(4, 10, 2) == "1,2,5,10");
    BOOST_TEST(rungs_of(3, 900, 3) == "100,300,900");
}

BOOST_AUTO_TEST_CASE(exact_powers_of_the_divisor_count_as_such) {
    // floor(log(64) / log(4)) is 3, floor(log(1000) / log(10)) is 2: in double arithmetic, as in Determined.
    BOOST_TEST(brackets_of(adaptive("aggressive", 64, 1000, 1, 4, 9)) == "(4,1000,1)");
    BOOST_TEST(brackets_of(adaptive("aggressive", 63, 1000, 1, 4, 9)) == "(3,1000,1)");
    BOOST_TEST(brackets_of(adaptive("aggressive", 1000, 100000, 1, 10, 9)) == "(3,100000,1)");
}

BOOST_AUTO_TEST_CASE(async_halving_has_one_bracket) {
    Json options{{"name", "async_halving"}, {"num_rungs", 3}, {"max_length", 900},
                 {"max_trials", 10},        {"divisor", 3},   {"max_concurrent_trials", 0}};
    BOOST_TEST(brackets_of(options) == "(3,10,9)");
    options["max_trials"] = 5;
    BOOST_TEST(brackets_of(options) == "(3,5,5)");
    options["max_concurrent_trials"] = 4;
    BOOST_TEST(brackets_of(options) == "(3,5,4)");
    options["max_concurrent_trials"] = 16;
    BOOST_TEST(brackets_of(options) == "(3,5,5)");
}

BOOST_AUTO_TEST_CASE(brackets_get_their_trials_evenly_spread) {
    for (auto const trials : {5U, 100U, 500U, 1777U}) {
        auto const search = planned(adaptive("standard", 1000, trials, 16, 4, 5));
        BracketAssignment const assignment(search);
        std::vector<double> counts(search.brackets.size(), 0);
        auto const total = search.trial_count();
        for (std::uint32_t trial = 0; trial < total; ++trial) {
            ++counts.at(assignment.bracket_of(trial));
            for (std::size_t i = 0; i < counts.size(); ++i) {
                auto const fair = double(search.brackets[i].trials) * (trial + 1) / total;
                BOOST_REQUIRE(std::abs(counts[i] - fair) < double(counts.size()));
            }
        }
        for (std::size_t i = 0; i < counts.size(); ++i) BOOST_TEST(counts[i] == search.brackets[i].trials);
    }
    auto const search = planned(adaptive("conservative", 16, 16, 0, 4, 5));
    BracketAssignment const assignment(search);
    std::string order;
    for (std::uint32_t trial = 0; trial < 16; ++trial) order += std::to_string(assignment.bracket_of(trial));
    BOOST_TEST(order == "0010002001000100");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_searched_is_refused_by_its_key) {
    auto const with = [](char const* key, Json const& value) {
        auto options = adaptive("standard", 1000, 100, 16, 4, 5);
        if (value.is_null())
            options.erase(key);
        else
            options[key] = value;
        return refusal_of(options);
    };
    BOOST_TEST(with("max_trials", {}) ==
               "searcher.max_trials: searcher.max_trials must be an integer from 1 to 1000000");
    BOOST_TEST(with("max_trials", 1'000'001).starts_with("searcher.max_trials: "));
    BOOST_TEST(with("max_length", {}) ==
               "searcher.max_length: searcher.max_length does not say how long a trial trains");
    BOOST_TEST(with("divisor", 1) == "searcher.divisor: searcher.divisor must be greater than 1");
    BOOST_TEST(with("bracket_rungs", {0}) ==
               "searcher.bracket_rungs: searcher.bracket_rungs must be integers from 1 to 64");
    BOOST_TEST(with("bracket_rungs", {65}).starts_with("searcher.bracket_rungs: "));
    BOOST_TEST(with("bracket_rungs", std::vector<int>(65, 1)) ==
               "searcher.bracket_rungs: searcher.bracket_rungs has more than 64 brackets");
}

BOOST_AUTO_TEST_CASE(draws_are_those_of_random_and_go_on_beyond_the_planned_trials) {
    auto options = adaptive("standard", 1000, 100, 16, 4, 5);
    std::string const space = R"({"lr": {"type": "double", "minval": 0, "maxval": 1}})";
    auto const search = search_of(options.dump(), space);
    auto const random = search_of(Json{{"name", "random"}, {"max_trials", 200}}.dump(), space);
    BOOST_TEST(search.trial_count() == 100);
    BOOST_TEST(search.concurrent_trials_max() == 16);
    BOOST_TEST(search.asha().has_value());
    for (auto const trial : {0U, 99U, 100U, 150U}) BOOST_TEST((search.draw(trial) == random.draw(trial)));
    BOOST_TEST(search.draw_count() == 1'000'000);
    auto const grid = search_of(R"({"name": "grid"})", R"({"a": {"type": "categorical", "vals": [1, 2]}})");
    BOOST_TEST(grid.draw_count() == 2);
    // If every draw is the same, nothing can replace it.
    auto const constant = search_of(options.dump(), R"({"lr": 0.1, "b": {"type": "const", "val": 1}})");
    BOOST_TEST(!constant.replaces_invalid_trials());
    for (auto const* vals : {"[0.1]", "[0.1, 0.1]", "[0.1, 0.2]"}) {
        auto const choices = search_of(
            options.dump(), std::string(R"({"lr": {"type": "categorical", "vals": )") + vals + "}}");
        BOOST_TEST(choices.replaces_invalid_trials() == (vals == std::string_view("[0.1, 0.2]")), vals);
    }
    BOOST_TEST(constant.draw_count() == 100);
}

BOOST_AUTO_TEST_SUITE_END()
