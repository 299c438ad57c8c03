#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "check_result.hpp"

using namespace det;

namespace tree_test {

std::string json_of(std::string_view text) {
    return yaml::to_json(must(yaml::parse_document(text, "exp.yaml"))).dump();
}

}  // namespace tree_test

BOOST_AUTO_TEST_SUITE(tree_test)

BOOST_AUTO_TEST_CASE(a_document_is_parsed_to_its_values) {
    BOOST_TEST(json_of("a: 1\nb:\n  - x\n  - {c: 1.5, d: ~}\ne: |\n  two\n  lines\nf: >-\n  one\n  line\n") ==
               R"({"a":1,"b":["x",{"c":1.5,"d":null}],"e":"two\nlines\n","f":"one line"})");
    BOOST_TEST(json_of("") == "null");
    BOOST_TEST(json_of("# only a comment\n") == "null");
    BOOST_TEST(json_of("---\n") == "null");
    BOOST_TEST(json_of("%YAML 1.2\n---\na: 1\n...\n") == R"({"a":1})");
}

BOOST_AUTO_TEST_CASE(every_value_and_every_key_has_its_location) {
    auto const document = must(yaml::parse_document("a: 1\nb:\n  ü: {c: 'it''s'}  # x\n", "exp.yaml"));
    auto const* nested = document.find("b")->find("ü");
    auto const key = document.find("b")->find_entry("ü")->key_location.span().value();
    auto const value = nested->find("c")->location().span().value();
    BOOST_TEST(key.line == 3);
    BOOST_TEST(key.column == 3);
    BOOST_TEST(key.width == 1);
    BOOST_TEST(value.column == 10);  // in characters, as editors count
    BOOST_TEST(value.width == 7);
    BOOST_TEST(value.line_text == "  ü: {c: 'it''s'}  # x");
    BOOST_TEST(nested->find("c")->location().text() == "exp.yaml:3:10");
}

BOOST_AUTO_TEST_CASE(windows_line_ends_and_a_byte_order_mark_do_not_move_locations) {
    auto const document =
        must(yaml::parse_document("\xef\xbb\xbf"
                                  "a: 1\r\nb: x\r\n",
                                  "exp.yaml"));
    auto const span = document.find("b")->location().span().value();
    BOOST_TEST(*document.find("b")->text() == "x");
    BOOST_TEST(span.line == 2);
    BOOST_TEST(span.column == 4);
    BOOST_TEST(span.line_text == "b: x");
    BOOST_TEST(document.find_entry("a")->key_location.span()->column == 1);
}

BOOST_AUTO_TEST_CASE(comparisons_ignore_the_order_of_keys) {
    auto const one = must(yaml::parse_document("z: 1\na: [1, 2]\n", "one"));
    auto const two = must(yaml::parse_document("a: [1, 2]\nz: 1\n", "two"));
    BOOST_TEST(one.entries()[0].key == "z");
    BOOST_TEST((one == two));
    BOOST_TEST(!(one == must(yaml::parse_document("z: 1\na: [2, 1]\n", "three"))));
    auto const no_number = must(yaml::parse_document("[.nan]", "four"));
    BOOST_TEST((no_number == must(yaml::parse_document("[.NaN]", "five"))));
}

BOOST_AUTO_TEST_CASE(a_node_can_be_assigned_a_part_of_itself) {
    auto node = must(yaml::parse_document("a: {b: [1, 2]}\n", "exp.yaml"));
    while (node.is_map()) node = node.entries()[0].value;
    BOOST_TEST(node.items().size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_alias_is_the_value_of_its_anchor_at_the_place_of_the_alias) {
    auto const document = must(yaml::parse_document("a: &x {k: 1}\nb: *x\n", "exp.yaml"));
    BOOST_TEST((*document.find("a") == *document.find("b")));
    auto const span = document.find("b")->location().span().value();
    BOOST_TEST(span.line == 2);
    BOOST_TEST(span.width == 2);
}

BOOST_AUTO_TEST_CASE(a_merge_key_adds_missing_keys) {
    BOOST_TEST(json_of("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n") ==
               R"({"base":{"x":1,"y":2},"use":{"x":1,"y":3}})");
    BOOST_TEST(json_of("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nuse: {<<: [*a, *b]}\n") ==
               R"({"a":{"x":1},"b":{"x":2,"y":2},"use":{"x":1,"y":2}})");
    BOOST_TEST(json_of("'<<': 1\n") == R"({"<<":1})");
    BOOST_TEST(!yaml::parse_document("<<: 5\n", "exp.yaml").has_value());
    BOOST_TEST(!yaml::parse_document("a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", "exp.yaml").has_value());
}

BOOST_AUTO_TEST_CASE(a_value_can_be_read_from_the_middle_of_a_text) {
    auto const source = std::make_shared<yaml::Source const>("--config", "a.b=[1, x]");
    auto const value = must(yaml::parse_value(source, 4));
    BOOST_TEST(value.items().size() == 2u);
    auto const span = value.items()[1].location().span().value();
    BOOST_TEST(span.column == 9);
    BOOST_TEST(span.line_text == "a.b=[1, x]");
}

BOOST_AUTO_TEST_SUITE_END()
