#include "row.hpp"

#include <boost/test/unit_test.hpp>

using namespace det::bench;

BOOST_AUTO_TEST_SUITE(row_test)

BOOST_AUTO_TEST_CASE(the_median_is_the_middle_value_whatever_the_order) {
    BOOST_TEST(median({7}) == 7);
    BOOST_TEST(median({9, 1, 4}) == 4);
    BOOST_TEST(median({8, 2, 4, 1}) == 3);
}

BOOST_AUTO_TEST_CASE(a_rows_ratio_is_that_of_the_typical_pair_not_of_the_medians) {
    auto const row = summarise("submit", {{1, 2}, {30, 10}, {8, 4}}, "s", Better::lower);
    BOOST_TEST(row.ours == 8);
    BOOST_TEST(row.peer == 4);
    BOOST_TEST(row.ratio == 2);
    auto const uneven = summarise("submit", {{1, 1}, {10, 2}, {100, 50}}, "s", Better::lower);
    BOOST_TEST(uneven.ours / uneven.peer == 5);
    BOOST_TEST(uneven.ratio == 2);
}

BOOST_AUTO_TEST_CASE(a_row_is_one_line_of_json) {
    BOOST_TEST(
        render({"submit", 0.0341234, 0.0300001, 1.1374, "s", Better::lower}) ==
        R"({"name": "submit", "ours": 0.03412, "peer": 0.03, "ratio": 1.137, "unit": "s", "better": "lower"})");
    BOOST_TEST(
        render({"all-reduce", 12, 6, 2, "GB/s", Better::higher}) ==
        R"({"name": "all-reduce", "ours": 12, "peer": 6, "ratio": 2, "unit": "GB/s", "better": "higher"})");
    BOOST_TEST(
        render({"wins", 1, 2, 0.5, "loss", Better::lower, {{"share", 0.95}}}) ==
        R"({"name": "wins", "ours": 1, "peer": 2, "ratio": 0.5, "unit": "loss", "better": "lower", "share": 0.95})");
}

BOOST_AUTO_TEST_SUITE_END()
