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

BOOST_AUTO_TEST_CASE(a_narrow_terminal_does_not_show_less_important_columns) {
    Table table({"ID", "Owner", "Name", "State"}, {"Owner", "State"});
    table.add({"1", "alice", "digits", "RUNNING"});
    auto const all = table.render();
    BOOST_TEST(table.render(29) == all);
    BOOST_TEST(table.render(28) ==
               "ID | Name   | State\n"
               "---+--------+--------\n"
               "1  | digits | RUNNING\n"
               "not shown: Owner\n");
    BOOST_TEST(table.render(11) ==
               "ID | Name\n"
               "---+-------\n"
               "1  | digits\n"
               "not show...\n");
}

BOOST_AUTO_TEST_CASE(the_widest_column_is_cut_where_that_is_enough) {
    Table table({"ID", "Reason", "Nodes"});
    table.add({"1", "waits for a node of another user", "2"});
    BOOST_TEST(table.render(25) ==
               "ID | Reason       | Nodes\n"
               "---+--------------+------\n"
               "1  | waits for... | 2\n");
    BOOST_TEST(table.render(18) ==
               "ID | Reason\n"
               "---+--------------\n"
               "1  | waits for ...\n"
               "not shown: Nodes\n");
}

BOOST_AUTO_TEST_CASE(states_have_colours_and_the_blanks_behind_them_have_none) {
    Table table({"ID", "State", "Name"});
    table.add({"1", "ERROR", "RUNNING"});
    table.add({"2", "STOPPING_KILLED", ""});
    table.add({"3", "\x1b[31mother", ""});
    BOOST_TEST(table.render(Table::any_width, true) ==
               "ID | State           | Name\n"
               "---+-----------------+--------\n"
               "1  | \x1b[31mERROR\x1b[0m           | RUNNING\n"
               "2  | \x1b[2mSTOPPING_KILLED\x1b[0m |\n"
               "3  | \\x1b[31mother   |\n");
    BOOST_TEST(table.render() == table.render(Table::any_width, false));
    for (auto const* state :
         {"COMPLETED", "RUNNING", "2 running, 38 waiting", "waiting", "INTERRUPTED", "held"})
        BOOST_TEST(!style_of_state(state).empty(), state);
    BOOST_TEST(style_of_state("2 running, 38 waiting") == style_of_state("RUNNING"));
    for (auto const* other : {"", "7", "SUBMITTED", "digits"})
        BOOST_TEST(style_of_state(other).empty(), other);
}

BOOST_AUTO_TEST_CASE(people_see_four_significant_digits_and_programs_six) {
    NumberText const for_people(NumberText::For::people), for_programs;
    BOOST_TEST(for_people(0.123456789) == "0.1235");
    BOOST_TEST(for_programs(0.123456789) == "0.123457");
    BOOST_TEST(for_people(Json(123456)) == "123456");
    BOOST_TEST(for_people(Json(0.123456789)) == "0.1235");
    BOOST_TEST(for_people(Json("NaN")) == "NaN");
    BOOST_TEST(for_people(Json::array({1, 2})) == "[1,2]");
}

BOOST_AUTO_TEST_CASE(local_times_name_the_day_and_change_at_local_midnight) {
    ::setenv("TZ", "XST-2", 1);  // two hours east of UTC
    ::tzset();
    auto const at = [](std::string_view time) {
        return local_time(*parse_utc(time), *parse_utc("2026-11-21T08:15:30Z"));
    };
    BOOST_TEST(at("2026-11-21T06:03:00Z") == "today 08:03");
    BOOST_TEST(at("2026-11-20T22:00:00Z") == "today 00:00");
    BOOST_TEST(at("2026-11-20T21:59:59Z") == "yesterday 23:59");
    BOOST_TEST(at("2026-11-19T22:00:00Z") == "yesterday 00:00");
    BOOST_TEST(at("2026-11-19T21:59:59Z") == "2026-11-19 23:59");
    BOOST_TEST(at("2026-11-21T21:59:59Z") == "today 23:59");
    BOOST_TEST(at("2026-11-21T22:00:00Z") == "tomorrow 00:00");
    BOOST_TEST(at("2026-11-22T22:00:00Z") == "2026-11-23 00:00");
    ::unsetenv("TZ");
    ::tzset();
}

BOOST_AUTO_TEST_CASE(short_times_have_a_zone) {
    BOOST_TEST(short_time(parse_utc("2026-11-21T08:15:30.999999Z")) == "2026-11-21 08:15:30Z");
    BOOST_TEST(short_time(std::nullopt) == "");
}

BOOST_AUTO_TEST_SUITE_END()
