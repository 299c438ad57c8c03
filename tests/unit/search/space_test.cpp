// Tests the dimensions of a space, and which specifications are refused. A file may specify anything.
#include <det/protocol/json.hpp>

#include <cmath>

#include "check_result.hpp"
#include "search_support.hpp"

using namespace det;
using namespace det::search;

namespace space_test {

constexpr char single[] = R"({"name": "single"})";

}  // namespace space_test

BOOST_AUTO_TEST_SUITE(space_test)

BOOST_AUTO_TEST_CASE(dimensions_are_sorted_by_name_nested_ones_too) {
    auto const space =
        search_of(single, R"({"z": 1, "b": {"y": {"type": "const", "val": 2}, "x": {}}, "B": [3],
        "a": {"type": {"type": "const", "val": 1}}})")
            .space();
    std::string names;
    for (auto const& dimension : space) names += dimension.name() + " ";
    BOOST_TEST(names == "B a.type b.x b.y z ");
}

BOOST_AUTO_TEST_CASE(constants_are_given_as_they_are_nested_ones_too) {
    auto const search =
        search_of(single, R"({"lr": {"type": "const", "val": 0.1}, "plain": [1, 2], "group": {},
        "opt": {"name": {"type": "const", "val": "sgd"}, "none": {"type": "const", "val": null}}})");
    auto const draw = search.draw(0);
    BOOST_TEST((draw.hyperparameters == parse_json(R"({"lr": 0.1, "plain": [1, 2], "group": {},
        "opt": {"name": "sgd", "none": null}})")));
    // numpy.random.RandomState(42): word 5 of its stream, without its highest bit.
    BOOST_TEST(draw.seed == 996406378u);
}

BOOST_AUTO_TEST_CASE(all_invalid_hyperparameters_are_refused_at_once_with_their_paths) {
    auto const refusals = refusals_of(R"({"name": "adaptive"})", R"({"a": {"type": "int"},
        "b": {"c": {"type": "categorical", "vals": []}}, "good": {"type": "const", "val": 1}})");
    BOOST_REQUIRE(refusals.size() == 3u);
    BOOST_TEST(refusals[0].path == "searcher.name");
    BOOST_TEST((refusals[0].error.code == codes::not_supported));
    BOOST_TEST(refusals[1].path == "hyperparameters.a");
    BOOST_TEST(refusals[2].path == "hyperparameters.b.c");
}

BOOST_AUTO_TEST_CASE(hostile_ranges_are_refused_and_crash_nothing) {
    for (std::string const range : {R"({"type": "integer", "minval": 0, "maxval": 1})",
                                    R"({"type": ""})",
                                    R"({"type": "int", "minval": 0.5, "maxval": 1})",
                                    R"({"type": "int", "minval": 3, "maxval": 3})",
                                    R"({"type": "int", "minval": 0, "maxval": 18446744073709551615})",
                                    R"({"type": "int", "minval": 0, "maxval": 9, "count": 0})",
                                    R"({"type": "int", "minval": 0, "maxval": 9, "count": "all"})",
                                    R"({"type": "double", "minval": null, "maxval": 1})",
                                    R"({"type": "double", "minval": 0})",
                                    R"({"type": "double", "minval": 1, "maxval": 0})",
                                    R"({"type": "double", "minval": [], "maxval": {}})",
                                    R"({"type": "double", "minval": -1.7e308, "maxval": 1.7e308})",
                                    R"({"type": "double", "minval": 0, "maxval": 1.7e308, "count": 100})",
                                    R"({"type": "log", "minval": 0, "maxval": 1})",
                                    R"({"type": "log", "minval": 0, "maxval": 1, "base": 0})",
                                    R"({"type": "log", "minval": 0, "maxval": 1, "base": -2})",
                                    R"({"type": "log", "minval": 0, "maxval": 400, "base": 10})",
                                    R"({"type": "log", "minval": -400, "maxval": 0, "base": 0.1})",
                                    R"({"type": "log", "minval": -400, "maxval": 0, "base": 10})",
                                    R"({"type": "categorical"})",
                                    R"({"type": "categorical", "vals": {"a": 1}})"}) {
        auto const refusals = refusals_of(single, R"({"x": )" + range + "}");
        BOOST_TEST(refusals.at(0).path == "hyperparameters.x", range);
        BOOST_TEST(refusals.at(0).error.message.find("hyperparameters.x: ") == 0u, range);
    }
    BOOST_TEST(refusals_of(single, "[1]").at(0).path == "hyperparameters");
    BOOST_TEST(refusals_of(R"({"name": ""})", "{}").at(0).path == "searcher.name");
}

BOOST_AUTO_TEST_CASE(a_range_that_is_no_number_is_refused) {
    for (auto const bad : {std::nan(""), HUGE_VAL}) {
        Json const space{{"x", {{"type", "double"}, {"minval", 0}, {"maxval", bad}}}};
        auto const search = Search::parse({"single", "loss", true, Json::object()}, space, 1);
        BOOST_TEST(!search.has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_specification_gives_each_of_its_trials_a_draw) {
    ExperimentSpec spec;
    spec.searcher = {"random", "loss", true, Json{{"max_trials", 3}}};
    spec.hyperparameters = parse_json(R"({"x": {"type": "double", "minval": 0, "maxval": 1}})");
    spec.experiment_seed = 42;
    auto const search = search_of(R"({"name": "random", "max_trials": 3})", spec.hyperparameters->dump());
    for (std::uint32_t index = 0; index < 3; ++index)
        BOOST_TEST((must(draw_trial(spec, index)) == search.draw(index)));
    // Draws beyond the planned trials replace trials with invalid hyperparameters.
    must(draw_trial(spec, 999'999));
    BOOST_TEST((must_fail(draw_trial(spec, 1'000'000)).code == codes::no_such_trial));
    spec.searcher.name = "adaptive";
    BOOST_TEST((must_fail(draw_trial(spec, 0)).code == codes::not_supported));
}

BOOST_AUTO_TEST_SUITE_END()
