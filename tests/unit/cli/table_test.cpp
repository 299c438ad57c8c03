#include "output/table.hpp"

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::cli;

BOOST_AUTO_TEST_SUITE(table_test)

BOOST_AUTO_TEST_CASE(columns_are_as_wide_as_their_widest_cell) {
    Table table({"ID", "Name", "State"});
    table.add({"1", "digits", "RUNNING"});
    table.add({"100", "", "OK"});
    BOOST_TEST(table.render() ==
               "ID  | Name   | State\n"
               "----+--------+--------\n"
               "1   | digits | RUNNING\n"
               "100 |        | OK\n");
}

BOOST_AUTO_TEST_CASE(without_rows_there_is_a_header) {
    BOOST_TEST(Table({"ID", "Name"}).render() == "ID | Name\n---+-----\n");
}

BOOST_AUTO_TEST_CASE(an_empty_last_cell_leaves_no_blanks) {
    Table table({"A", "B"});
    table.add({"", ""});
    BOOST_TEST(table.render() == "A | B\n--+--\n  |\n");
}

BOOST_AUTO_TEST_CASE(widths_count_characters_not_bytes) {
    Table table({"Name", "X"});
    table.add({"Größe", "1"});
    BOOST_TEST(table.render() == "Name  | X\n------+--\nGröße | 1\n");
}

BOOST_AUTO_TEST_CASE(control_bytes_of_a_cell_are_escaped) {
    Table table({"Name"});
    table.add({"\x1b[31mred\nnext"});
    BOOST_TEST(table.render() == "Name\n-----------------\n\\x1b[31mred\\nnext\n");
}

BOOST_AUTO_TEST_CASE(short_times_have_a_zone) {
    BOOST_TEST(short_time(parse_utc("2026-11-21T08:15:30.999999Z")) == "2026-11-21 08:15:30Z");
    BOOST_TEST(short_time(std::nullopt) == "");
}

BOOST_AUTO_TEST_SUITE_END()
