#include <det/search/draw.hpp>
#include <det/search/random.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;
using namespace det::search;
using Json = nlohmann::json;

BOOST_AUTO_TEST_SUITE(draw_test)

BOOST_AUTO_TEST_CASE(random_numbers_are_numpys) {
    Random random(42);
    for (std::uint32_t const expected : {6, 3, 7, 4, 6, 9, 2, 6, 7, 4})
        BOOST_TEST(random.below(10) == expected);
    Random one(1);
    BOOST_TEST(one.below(1) == 0u);
}

BOOST_AUTO_TEST_CASE(constants_are_given_as_they_are_nested_ones_too) {
    auto const configured = Json::parse(R"({"lr": {"type": "const", "val": 0.1}, "plain": [1, 2],
        "opt": {"name": {"type": "const", "val": "sgd"}, "none": {"type": "const", "val": null}}})");
    auto const draw = must(draw_trial(configured, 42, 0));
    BOOST_TEST((draw.hyperparameters ==
                Json::parse(R"({"lr": 0.1, "plain": [1, 2], "opt": {"name": "sgd", "none": null}})")));
}

BOOST_AUTO_TEST_CASE(each_trial_has_its_seed_whoever_computes_it) {
    auto const first = must(draw_trial(Json::object(), 42, 0)).seed;
    auto const second = must(draw_trial(Json::object(), 42, 1)).seed;
    // numpy.random.RandomState(42): words 5 and 10 of its stream, without their highest bit.
    BOOST_TEST(first == 996406378u);
    BOOST_TEST(second == 1914837113u);
    BOOST_TEST(must(draw_trial(Json::object(), 42, 1)).seed == second);
    BOOST_TEST(must(draw_trial(Json::object(), 43, 0)).seed != first);
}

BOOST_AUTO_TEST_CASE(a_range_is_refused_by_the_name_of_its_parameter) {
    auto const error = must_fail(draw_trial(Json::parse(R"({"opt": {"lr": {"type": "double"}}})"), 1, 0));
    BOOST_TEST((error.code == codes::not_supported));
    BOOST_TEST(error.message.find("'opt.lr'") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
