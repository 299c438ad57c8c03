#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

using namespace det;

BOOST_AUTO_TEST_SUITE(json_number_test)

constexpr auto infinity = std::numeric_limits<double>::infinity();

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_texts) {
    BOOST_TEST(number_to_json(0.25) == Json(0.25));
    BOOST_TEST(number_to_json(std::nan("")) == "NaN");
    BOOST_TEST(number_to_json(infinity) == "Infinity");
    BOOST_TEST(number_to_json(-infinity) == "-Infinity");
}

BOOST_AUTO_TEST_CASE(each_number_is_read_as_it_was_written) {
    for (double const value : {0.0, -1.5, infinity, -infinity, std::numeric_limits<double>::max()})
        BOOST_TEST(number_from_json(number_to_json(value)).value() == value);
    BOOST_TEST(std::isnan(number_from_json(number_to_json(std::nan(""))).value()));
    BOOST_TEST(number_from_json(Json(7)).value() == 7.0);
}

BOOST_AUTO_TEST_CASE(other_values_are_no_numbers) {
    for (auto const& value :
         {Json("nan"), Json("inf"), Json(""), Json("0.25"), Json(true), Json(nullptr), Json::array({1.0})})
        BOOST_TEST(!number_from_json(value).has_value(), value);
}

BOOST_AUTO_TEST_SUITE_END()
