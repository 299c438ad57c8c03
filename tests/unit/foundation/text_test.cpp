#include <det/foundation/count_text.hpp>
#include <det/foundation/environment.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;

BOOST_AUTO_TEST_SUITE(text_test)

BOOST_AUTO_TEST_CASE(splitting_keeps_empty_pieces_and_lines_end_with_a_newline) {
    BOOST_TEST(split("a,,b", ',').size() == 3u);
    BOOST_TEST(split("", ',').size() == 1u);
    BOOST_TEST(split_lines("a\nb\n").size() == 2u);
    BOOST_TEST(split_lines("").empty());
}

BOOST_AUTO_TEST_CASE(integers_are_the_whole_text_or_nothing) {
    BOOST_TEST(parse_integer<int>("42").value() == 42);
    BOOST_TEST(!parse_integer<int>("42x"));
    BOOST_TEST(!parse_integer<int>(""));
    BOOST_TEST(!parse_integer<int>(" 42"));
    BOOST_TEST(!parse_integer<unsigned>("-1"));
    BOOST_TEST(!parse_integer<std::int8_t>("200"));
}

BOOST_AUTO_TEST_CASE(a_quoted_word_means_itself_to_a_real_shell) {
    SystemProcessRunner runner;
    for (std::string const word : {"plain", "", "two words", "$(touch /tmp/never)", "it's", "`id`;|&<>",
                                   "line\nbreak", "\\back\"quote", "*?[a]~", "-n", "ünïcode"}) {
        Command command{{"/bin/sh", "-c", "printf %s " + quote_for_shell(word)},
                        Environment::of_this_process()};
        BOOST_TEST(must(runner.run(command)).out == word);
    }
}

BOOST_AUTO_TEST_CASE(bytes_that_control_a_terminal_are_escaped) {
    BOOST_TEST(escape_control("a\x1b[31mb\n\t\x7f") == "a\\x1b[31mb\\n\\t\\x7f");
    BOOST_TEST(escape_control("gr\xc3\xbc\xc3\x9f \xe2\x82\xac") == "gr\xc3\xbc\xc3\x9f \xe2\x82\xac");
    BOOST_TEST(escape_control("\xff\xc3") == "\\xff\\xc3");
    BOOST_TEST(escape_control("\xc2\x9b"
                              "31m") == "\\xc2\\x9b31m");                  // CSI as a C1 control
    for (auto const* mark : {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f"})  // U+061C, U+200E, U+200F
        BOOST_TEST(escape_control(mark).starts_with("\\x"));
    BOOST_TEST(escape_control("\xe2\x80\x8d\xe2\x80\x90") == "\xe2\x80\x8d\xe2\x80\x90");  // their neighbours
    BOOST_TEST(escape_control("\xe2\x80\xae"
                              "x") == "\\xe2\\x80\\xaex");  // right-to-left override
}

BOOST_AUTO_TEST_CASE(every_kind_of_invalid_utf8_is_recognised) {
    // The first and the last character of each length, and those beside the surrogates.
    for (std::string const character :
         {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
          "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        BOOST_TEST(is_valid_utf8("a" + character + "b"), escape_control(character));
    struct Case {
        std::string_view kind;
        std::string bytes;
    };
    Case const cases[] = {
        {"a continuation byte without a lead byte", "\x80"},
        {"the last continuation byte without a lead byte", "\xbf"},
        {"one continuation byte too many", "\xc3\xbc\x80"},
        {"overlong in two bytes", "\xc0\x80"},
        {"overlong in two bytes", "\xc1\xbf"},
        {"overlong in three bytes", "\xe0\x9f\xbf"},
        {"overlong in four bytes", "\xf0\x8f\xbf\xbf"},
        {"the first surrogate", "\xed\xa0\x80"},
        {"the last surrogate", "\xed\xbf\xbf"},
        {"beyond Unicode", "\xf4\x90\x80\x80"},
        {"a lead byte beyond Unicode", "\xf5\x80\x80\x80"},
        {"a lead byte of five bytes", "\xf8\x88\x80\x80\x80"},
        {"a byte that UTF-8 never has", "\xfe"},
        {"a byte that UTF-8 never has", "\xff"},
        {"two bytes, cut short", "\xc3"},
        {"three bytes, cut short", "\xe2\x82"},
        {"four bytes, cut short", "\xf0\x9f\x9a"},
        {"a lead byte in place of the second byte", "\xc3\xc3"},
        {"an ASCII character in place of the third byte", "\xe2\x82("},
        {"an ASCII character in place of the fourth byte", "\xf0\x9f\x9a("},
    };
    for (auto const& [kind, bytes] : cases) {
        BOOST_TEST(!is_valid_utf8(bytes), kind);
        BOOST_TEST(!is_valid_utf8("text before " + bytes), kind << ", at the end");
        BOOST_TEST(!is_valid_utf8(bytes + "text behind"), kind << ", at the start");
    }
}

BOOST_AUTO_TEST_CASE(the_nearest_word_is_offered_only_when_it_is_near) {
    constexpr std::string_view keys[] = {"slots_per_trial", "max_slots", "name"};
    BOOST_TEST(nearest_word("slot_per_trial", keys).value() == "slots_per_trial");
    BOOST_TEST(nearest_word("Slots_Per_Trial", keys).value() == "slots_per_trial");
    BOOST_TEST(!nearest_word("colour", keys));
    constexpr std::string_view commands[] = {"ls", "run", "logs"};
    BOOST_TEST(nearest_word("rnu", commands).value() == "run");
    BOOST_TEST(nearest_word("sl", commands).value() == "ls");
    BOOST_TEST(nearest_word("lgos", commands).value() == "logs");
    BOOST_TEST(!nearest_word("urn2", commands));
    BOOST_TEST(!nearest_word("", keys));
}

BOOST_AUTO_TEST_CASE(durations_are_a_number_and_a_unit) {
    BOOST_TEST(parse_duration_s("90s").value() == 90);
    BOOST_TEST(parse_duration_s("1.5h").value() == 5400);
    BOOST_TEST(parse_duration_s("20ms").value() == 0.02);
    BOOST_TEST(parse_duration_s("0m").value() == 0);
    BOOST_TEST(parse_duration_s("1000000d").value() == 86'400e6);
    for (auto const* text :
         {"", "s", "90", "90 s", "-1s", "1000001d", "nans", "infs", "1e400s", "5w", "1hh", "+1s"})
        BOOST_TEST(!parse_duration_s(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(sizes_have_the_unit_that_fits) {
    BOOST_TEST(format_size(95 << 20) == "95.0 MiB");
    BOOST_TEST(format_size(1023) == "1023 B");
    BOOST_TEST(format_size(1536) == "1.5 KiB");
}

BOOST_AUTO_TEST_CASE(one_thing_has_no_plural) {
    BOOST_TEST(count_text(0, "slot") == "0 slots");
    BOOST_TEST(count_text(1, "slot") == "1 slot");
    BOOST_TEST(count_text(std::size_t{2}, "slot") == "2 slots");
}

BOOST_AUTO_TEST_SUITE_END()
