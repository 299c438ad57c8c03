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
    BOOST_TEST(is_valid_utf8("\xf0\x9f\x9a\x80"));
    BOOST_TEST(!is_valid_utf8("\xc0\x80"));          // overlong
    BOOST_TEST(!is_valid_utf8("\xed\xa0\x80"));      // surrogate
    BOOST_TEST(!is_valid_utf8("\xf4\x90\x80\x80"));  // beyond Unicode
    BOOST_TEST(!is_valid_utf8("\xe2\x82"));          // cut short
}

BOOST_AUTO_TEST_CASE(the_nearest_word_is_offered_only_when_it_is_near) {
    constexpr std::string_view keys[] = {"slots_per_trial", "max_slots", "name"};
    BOOST_TEST(nearest_word("slot_per_trial", keys).value() == "slots_per_trial");
    BOOST_TEST(nearest_word("Slots_Per_Trial", keys).value() == "slots_per_trial");
    BOOST_TEST(!nearest_word("colour", keys));
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

BOOST_AUTO_TEST_SUITE_END()
