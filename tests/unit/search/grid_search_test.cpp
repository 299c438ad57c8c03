#include <det/protocol/json.hpp>

#include <chrono>
#include <limits>
#include <set>

#include "search_support.hpp"

using namespace det;
using namespace det::search;

namespace grid_search_test {

constexpr char grid[] = R"({"name": "grid"})";

/// The values of a grid of one hyperparameter, in the order of the axis: trials run it backwards.
Json axis(std::string const& range) {
    auto points = points_of(search_of(grid, R"({"a": )" + range + "}"));
    auto values = Json::array();
    for (auto point = points.rbegin(); point != points.rend(); ++point) values.push_back(point->at("a"));
    return values;
}

Json int_axis(std::int64_t minval, std::int64_t maxval, std::int64_t count) {
    return axis(Json{{"type", "int"}, {"minval", minval}, {"maxval", maxval}, {"count", count}}.dump());
}

std::vector<double> real_axis(std::string const& range) { return axis(range).get<std::vector<double>>(); }

void check_near(std::vector<double> const& found, std::vector<double> const& expected) {
    BOOST_REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        BOOST_TEST(found[i] == expected[i], boost::test_tools::tolerance(1e-15));
}

}  // namespace grid_search_test

BOOST_AUTO_TEST_SUITE(grid_search_test)

BOOST_AUTO_TEST_CASE(integers_are_spread_evenly_and_rounded) {
    BOOST_TEST((int_axis(1, 10, 4) == Json({1, 4, 7, 10})));
    BOOST_TEST((int_axis(0, 20, 7) == Json({0, 3, 7, 10, 13, 17, 20})));
    BOOST_TEST((int_axis(0, 9, 3) == Json({0, 5, 9})));
    BOOST_TEST((int_axis(-9, 0, 3) == Json({-9, -5, 0})));
    BOOST_TEST((int_axis(-3, 2, 3) == Json({-3, -1, 2})));  // -0.5 is rounded away from zero
}

BOOST_AUTO_TEST_CASE(no_integer_is_tried_twice) {
    BOOST_TEST((int_axis(0, 4, 10) == Json({0, 1, 2, 3, 4})));
    BOOST_TEST(search_of(grid, R"({"a": {"type": "int", "minval": 1, "maxval": 2, "count": 2},
        "b": {"type": "int", "minval": 5, "maxval": 7, "count": 5}})")
                   .trial_count() == 6u);
}

BOOST_AUTO_TEST_CASE(one_integer_is_the_middle_halves_away_from_zero) {
    BOOST_TEST((int_axis(1, 2, 1) == Json::array({2})));
    BOOST_TEST((int_axis(-4, -1, 1) == Json::array({-3})));
    BOOST_TEST((int_axis(0, 10, 1) == Json::array({5})));
}

BOOST_AUTO_TEST_CASE(integers_at_the_end_of_the_numbers_are_exact) {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
    BOOST_TEST((int_axis(least, greatest, 2) == Json({least, greatest})));
    BOOST_TEST((int_axis(least, greatest, 1) == Json::array({-1})));
    BOOST_TEST((int_axis(greatest - 2, greatest, 1000) == Json({greatest - 2, greatest - 1, greatest})));
}

BOOST_AUTO_TEST_CASE(reals_are_spread_evenly) {
    check_near(real_axis(R"({"type": "double", "minval": 0.2, "maxval": 0.5, "count": 4})"),
               {0.2, 0.3, 0.4, 0.5});
    check_near(real_axis(R"({"type": "double", "minval": 0.2, "maxval": 0.5, "count": 1})"), {0.35});
}

BOOST_AUTO_TEST_CASE(powers_have_evenly_spread_exponents) {
    check_near(real_axis(R"({"type": "log", "base": 10, "minval": -3, "maxval": -1, "count": 3})"),
               {0.001, 0.01, 0.1});
    check_near(real_axis(R"({"type": "log", "base": 10, "minval": -5, "maxval": 1, "count": 1})"), {0.01});
    check_near(real_axis(R"({"type": "log", "base": 2, "minval": 0, "maxval": 4, "count": 3})"), {1, 4, 16});
}

BOOST_AUTO_TEST_CASE(the_last_name_changes_fastest_and_the_last_point_runs_first) {
    auto const search =
        search_of(grid, R"({"d": {"e": {"type": "double", "minval": 0, "maxval": 1, "count": 2}},
        "c": {"type": "const", "val": "x"}, "b": {"type": "categorical", "vals": [1, "two", [3], null]},
        "a": {"type": "int", "minval": 1, "maxval": 3, "count": 3}})");
    BOOST_TEST(search.trial_count() == 24u);
    auto const points = points_of(search);
    BOOST_TEST((points[0] == parse_json(R"({"a": 3, "b": null, "c": "x", "d": {"e": 1.0}})")));
    BOOST_TEST((points[1] == parse_json(R"({"a": 3, "b": null, "c": "x", "d": {"e": 0.0}})")));
    BOOST_TEST((points[2] == parse_json(R"({"a": 3, "b": [3], "c": "x", "d": {"e": 1.0}})")));
    BOOST_TEST((points[8] == parse_json(R"({"a": 2, "b": null, "c": "x", "d": {"e": 1.0}})")));
    BOOST_TEST((points[23] == parse_json(R"({"a": 1, "b": 1, "c": "x", "d": {"e": 0.0}})")));
}

BOOST_AUTO_TEST_CASE(all_points_are_different_and_each_is_computed_alone) {
    auto const search = search_of(grid, R"({"a": {"type": "int", "minval": -7, "maxval": 5, "count": 9},
        "n": {"z": {"type": "log", "base": 10, "minval": -3, "maxval": 0, "count": 7},
              "y": {"type": "categorical", "vals": [true, false]}, "empty": {}},
        "q": {"type": "double", "minval": -1, "maxval": 1, "count": 5}})");
    auto const points = points_of(search);
    BOOST_TEST(points.size() == 9u * 7 * 2 * 5);
    std::set<Json> const different(points.begin(), points.end());
    BOOST_TEST(different.size() == points.size());
    for (std::uint32_t index = 0; index < points.size(); index += 7)
        BOOST_TEST((search.draw(index).hyperparameters == points[index]));
}

BOOST_AUTO_TEST_CASE(an_empty_group_is_one_value) {
    BOOST_TEST((points_of(search_of(grid, R"({"a": {}})")) == std::vector<Json>{parse_json(R"({"a": {}})")}));
    BOOST_TEST(search_of(grid, R"({"a": {}, "b": {"type": "categorical", "vals": [1, 2]}})").trial_count() ==
               2u);
}

BOOST_AUTO_TEST_CASE(without_hyperparameters_there_are_no_trials) {
    BOOST_TEST(search_of(grid, "{}").trial_count() == 0u);
    BOOST_TEST(search_of(grid, "null").draw_first(5).empty());
}

BOOST_AUTO_TEST_CASE(seeds_do_not_depend_on_the_grid) {
    auto const draws = search_of(grid, R"({"a": {"type": "categorical", "vals": [1, 2]}})").draw_first(2);
    BOOST_TEST(draws[0].seed == 996406378u);
    BOOST_TEST(draws[1].seed == 1914837113u);
}

BOOST_AUTO_TEST_CASE(a_range_without_count_is_refused_with_its_path) {
    auto const refusals = refusals_of(grid, R"({"a": {"b": {"type": "int", "minval": 0, "maxval": 9}},
        "c": {"type": "double", "minval": 0, "maxval": 9}})");
    BOOST_REQUIRE(refusals.size() == 2u);
    BOOST_TEST(refusals[0].path == "hyperparameters.a.b");
    BOOST_TEST(refusals[1].path == "hyperparameters.c");
    BOOST_TEST((refusals[0].error.code == codes::missing_key));
}

BOOST_AUTO_TEST_CASE(a_grid_that_is_too_large_is_refused_with_the_numbers_at_once) {
    auto const before = std::chrono::steady_clock::now();
    auto const large =
        refusals_of(grid, R"({"a": {"type": "int", "minval": 0, "maxval": 999999, "count": 1000},
        "b": {"c": {"type": "double", "minval": 0, "maxval": 1, "count": 1001}}, "fixed": 3})");
    BOOST_TEST(large.at(0).path == "hyperparameters");
    BOOST_TEST(large.at(0).error.message ==
               "the grid (a 1000 x b.c 1001) has 1001000 points, more than the 1000000 trials that an "
               "experiment can have");
    std::string const axis = R"({"type": "double", "minval": 0, "maxval": 1, "count": 9000000000000000000})";
    auto const huge = refusals_of(grid, R"({"a": )" + axis + R"(, "b": )" + axis + "}");
    BOOST_TEST(huge.at(0).error.message.find("2^64 or more") != std::string::npos);
    BOOST_TEST((std::chrono::steady_clock::now() - before < std::chrono::seconds(1)));
}

BOOST_AUTO_TEST_CASE(a_grid_may_have_as_many_points_as_an_experiment_has_trials) {
    auto const search = search_of(grid, R"({"a": {"type": "int", "minval": 0, "maxval": 999, "count": 1000},
        "b": {"type": "int", "minval": 0, "maxval": 999, "count": 1000}})");
    BOOST_TEST(search.trial_count() == 1'000'000u);
    BOOST_TEST((search.draw(0).hyperparameters == Json({{"a", 999}, {"b", 999}})));
    BOOST_TEST((search.draw(999'999).hyperparameters == Json({{"a", 0}, {"b", 0}})));
}

BOOST_AUTO_TEST_SUITE_END()
