#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <random>

#include "check_result.hpp"
#include "golden.hpp"

using namespace det;

namespace hostile_test {

std::string problems_of(std::string_view text) {
    return explain(must_fail(yaml::parse_document(text, "exp.yaml")));
}

bool says(std::string_view text, std::string_view wanted) {
    return problems_of(text).find(wanted) != std::string::npos;
}

std::string repeated(std::string_view piece, std::size_t bytes) {
    std::string out;
    while (out.size() + piece.size() <= bytes) out += piece;
    return out;
}

/// Each level has ten aliases of the level before.
std::string billion_laughs() {
    std::string text = "l0: &l0 lol\n";
    for (int level = 1; level <= 9; ++level) {
        text += "l" + std::to_string(level) + ": &l" + std::to_string(level) + " [";
        for (int i = 0; i < 10; ++i) text += (i == 0 ? "*l" : ", *l") + std::to_string(level - 1);
        text += "]\n";
    }
    return text;
}

}  // namespace hostile_test

BOOST_AUTO_TEST_SUITE(hostile_test)

BOOST_AUTO_TEST_CASE(each_error_is_reported_with_location_and_hint) {
    std::string_view const mistakes[] = {
        "name: x\nmax_restarts: 5\nname: y\n",
        "resources:\n\tslots_per_trial: 8\n",
        "resources:\n  slots_per_trial: 8\n max_slots: 9\n",
        "description: note: this\n",
        "labels: [a, b\nname: x\n",
        "name: \"never closed\nlabels: [a]\n",
        "entrypoint: @train\n",
        "a: 1\n---\nb: 2\n",
        "- a\nb: 1\n",
        "a: *missing\n",
        "a: &x [1, *x]\n",
        "a: !include other.yaml\n",
        "1: one\n[2]: two\n",
        "a: \"\\q\"\n",
        "seed: 99999999999999999999\n",
    };
    std::string text;
    for (auto const mistake : mistakes) text += problems_of(mistake) + "\n";
    check_golden("config/yaml_mistakes.txt", text);
}

BOOST_AUTO_TEST_CASE(all_duplicate_keys_of_a_file_are_found_in_one_run) {
    auto const problems = problems_of("a: 1\na: 2\nb: {c: 1, c: 2, c: 3}\n");
    BOOST_TEST(problems.find("exp.yaml:2:1") != std::string::npos);
    BOOST_TEST(problems.find("exp.yaml:3:11") != std::string::npos);
    BOOST_TEST(problems.find("exp.yaml:3:17") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_text_are_refused_with_their_location) {
    using namespace std::string_literals;
    BOOST_TEST(says("a: 1\nb: x\0y\n"s, "exp.yaml:2:5: error: a NUL byte"));
    BOOST_TEST(says("a: 1\nb: \xff\n", "exp.yaml:2:4: error: the byte \\xff is not UTF-8"));
    BOOST_TEST(says("b: ü\xc3\n", "exp.yaml:1:5"));
    BOOST_TEST(says("b: \x1b[31m\n", "control byte \\x1b"));
    BOOST_TEST(says("a: \"x\\0y\"\n", "can't hold a NUL byte"));
    BOOST_TEST(
        says("\xff\xfe"
             "a\0:\0"s,
             "save the file as UTF-8"));
    BOOST_TEST(says("a: \"\\ud800\"\n", "no Unicode character"));
    BOOST_TEST(says("a: \"x\\Ny\"\n", "the escapes \\N and \\_"));  // yaml-cpp makes a single byte 85 of it
}

BOOST_AUTO_TEST_CASE(a_document_over_one_mebibyte_is_refused_unread) {
    BOOST_TEST(says(repeated("a", (1 << 20) + 1), "[document-too-large]"));
}

BOOST_AUTO_TEST_CASE(depth_is_bounded_in_every_style) {
    auto const nested_to = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    BOOST_TEST(yaml::parse_document(nested_to(64), "exp.yaml").has_value());
    BOOST_TEST(says(nested_to(65), "deeper than 64 levels"));
    BOOST_TEST(says(repeated("[", 1 << 20), "deeper than 64 levels"));
    BOOST_TEST(says(repeated("{a: ", 1 << 18), "deeper than 64 levels"));
    BOOST_TEST(says(repeated("- ", 1 << 18), "deeper than 64 levels"));
    // An alias of 40 levels inside of 40 levels.
    auto const deep = std::string(40, '[') + "1" + std::string(40, ']');
    auto const deeper = std::string(40, '[') + "*a" + std::string(40, ']');
    BOOST_TEST(says("a: &a " + deep + "\nb: " + deeper + "\n", "deeper than 64 levels"));
}

BOOST_AUTO_TEST_CASE(aliases_that_mean_a_billion_values_are_refused_unexpanded) {
    BOOST_TEST(says(billion_laughs(), "more than 100000 values"));
    auto const long_text = "a: &a " + std::string(200'000, 'x') + "\nb: [" + repeated("*a, ", 400) + "]\n";
    BOOST_TEST(says(long_text, "of text once aliases are written out"));
    BOOST_TEST(
        says("a: &a {x: 1}\nb: {<<: [" + repeated("*a, ", 300'000) + "*a]}\n", "more than 100000 values"));
}

BOOST_AUTO_TEST_CASE(an_anchor_inside_itself_is_refused) {
    BOOST_TEST(says("&a [*a]", "refers to itself"));
    BOOST_TEST(says("a: &a\n  b:\n    c: *a\n", "refers to itself"));
    BOOST_TEST(says("&a {<<: *a}", "refers to itself"));
}

BOOST_AUTO_TEST_CASE(large_documents_are_parsed_in_bounded_time) {
    for (std::string_view const piece :
         {"[",   "{",   "- ",  "? ", "a: ",  ":",      ",",           "&a ",    "!a ",        "*a ",
          "'",   "\"",  "|",   "\n", " ",    "# \n",   "---\n",       "...\n",  "%TAG ! a\n", "a\n ",
          "a\r", "[\n", "- [", "\\", "<<: ", "a: |\n", "a: {b: 1}\n", "!!str ", "]"}) {
        auto const text = repeated(piece, 1 << 17);
        auto const in_list = "[" + repeated(piece, (1 << 17) - 1);
        static_cast<void>(yaml::parse_document(text, "exp.yaml"));
        static_cast<void>(yaml::parse_document(in_list, "exp.yaml"));
    }
}

BOOST_AUTO_TEST_CASE(the_time_of_a_long_line_grows_with_its_length) {
    // The location of a value in characters costs time in proportion to its line: here that would be a
    // minute.
    std::string valid = "data: {", wrong = "data: {";
    for (int i = 0; i < 49'000; ++i) valid += "key" + std::to_string(i) + ": &x" + std::to_string(i) + " 1, ";
    for (int i = 0; i < 49'000; ++i) wrong += std::to_string(i) + ": a long value, ";
    auto const begin = std::chrono::steady_clock::now();
    must(yaml::parse_document(valid + "}", "exp.yaml"));
    BOOST_TEST(problems_of(wrong + "}").find("a key must be a string") != std::string::npos);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)));
}

BOOST_AUTO_TEST_CASE(damaged_documents_give_a_value_or_errors) {
    std::string const sample =
        "name: x\nlabels: [a, 'b', \"c\\n\"]\nh: &h {lr: {type: log, minval: -4, maxval: 1e-1}}\ni: *h\n"
        "t: |\n  text\n<<: *h\nu: !!str 5\n# end\n";
    std::string_view const pieces = "[]{}:,-?&*!|>'\"%@`#\n\t \\~<=.0x\xff\xc3";
    std::mt19937 random(42);
    for (int round = 0; round < 3000; ++round) {
        auto text = sample;
        for (int edit = 0; edit < 4; ++edit) {
            auto const at = random() % text.size();
            if (random() % 3 == 0) {
                text.erase(at, random() % 8);
            } else {
                text.insert(at, 1, pieces[random() % pieces.size()]);
            }
        }
        auto const result = yaml::parse_document(text, "exp.yaml");
        if (!result) BOOST_REQUIRE(result.error().has_errors());
        if (result) {
            auto const again = yaml::parse_document(yaml::render_yaml(*result), "again");
            BOOST_REQUIRE_MESSAGE(again.has_value() && *again == *result, text << "\n"
                                                                               << yaml::render_yaml(*result));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
