// YAML with a comment behind each value.
#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;

namespace explain_render_test {

std::string with_lines(std::string_view text) {
    auto const document = must(yaml::parse_document(text, "exp.yaml"));
    auto rendered =
        yaml::render_yaml(document, [](auto const& node) { return std::to_string(node.location().line); });
    BOOST_TEST((must(yaml::parse_document(rendered, "again")) == document), rendered);
    return rendered;
}

}  // namespace explain_render_test

BOOST_AUTO_TEST_SUITE(explain_render_test)

BOOST_AUTO_TEST_CASE(each_value_has_its_comment_in_one_column) {
    BOOST_TEST(
        with_lines(
            "name: x\nlist:\n- 1\n- a: b\n  c: [d]\nnone: []\ngroup: {}\nlines: |\n  # two\n  of them\n") ==
        "name: x    # 1\n"
        "list:\n"
        "  - 1      # 3\n"
        "  - a: b   # 4\n"
        "    c:\n"
        "      - d  # 5\n"
        "none: []   # 6\n"
        "group: {}  # 7\n"
        "lines: |   # 8\n"
        "  # two\n"
        "  of them\n");
    BOOST_TEST(with_lines("just text") == "just text  # 1\n");
    BOOST_TEST(with_lines("[]") == "[]  # 1\n");
}

BOOST_AUTO_TEST_CASE(a_long_value_moves_only_its_own_comment) {
    std::string const words(80, 'x');
    BOOST_TEST(with_lines("a: " + words + "\nb: 1\n") == "a: " + words + "  # 1\nb: 1  # 2\n");
}

BOOST_AUTO_TEST_CASE(control_bytes_of_a_comment_are_escaped) {
    yaml::Comment const comments[] = {{4, "x\ny: 2"}, {10, "z"}, {13, ""}};
    BOOST_TEST(yaml::add_comments("a: 1\nb: \xc3\xa9\nc:\n", comments) ==
               "a: 1  # x\\ny: 2\nb: \xc3\xa9  # z\nc:\n");
}

BOOST_AUTO_TEST_SUITE_END()
