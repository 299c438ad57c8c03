#include <det/yaml/parse.hpp>
#include <det/yaml/render.hpp>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "golden.hpp"

using namespace det;

namespace render_test {

yaml::Node text_node(std::string text) { return yaml::Node(yaml::Node::Scalar(std::move(text)), {}); }

}  // namespace render_test

BOOST_AUTO_TEST_SUITE(render_test)

BOOST_AUTO_TEST_CASE(a_document_is_written_in_block_style) {
    auto const document = must(yaml::parse_document(
        "{name: x, labels: [], data: {}, l: [[1, 2], {a: 1, b: [2]}, {}, ~], e: \"two\\nlines\\n\", f: "
        "\"no\\nend\","
        "n: [1.0, 1e-5, 1e20, .inf, -3], q: ['yes', '5', '', 'a: b', '#c', \"it's\", \"tab\\t\", '1e5'],"
        "'odd key': true, '5': x}",
        "exp.yaml"));
    check_golden("config/rendered.yaml", yaml::render_yaml(document));
    BOOST_TEST((must(yaml::parse_document(yaml::render_yaml(document), "again")) == document));
}

BOOST_AUTO_TEST_CASE(every_string_is_parsed_back_unchanged) {
    for (std::string const text : {"",
                                   " ",
                                   "plain",
                                   "two words",
                                   " leading",
                                   "trailing ",
                                   "a: b",
                                   "a :b",
                                   "a #b",
                                   "#a",
                                   "- a",
                                   "yes",
                                   "Off",
                                   "null",
                                   "~",
                                   "5",
                                   "-5",
                                   "1.5",
                                   "0x1",
                                   ".inf",
                                   "a\nb",
                                   "a\nb\n",
                                   "a\n\n",
                                   "\n",
                                   "\na",
                                   " a\nb",
                                   "a\n  b\n",
                                   "a\n \nb",
                                   "a\tb",
                                   "\x01",
                                   "\x7f",
                                   "\xc2\x85",
                                   "\xe2\x80\xa8",
                                   "\xe2\x80\xae",
                                   "\xef\xbb\xbf",
                                   "\xef\xbf\xbe",
                                   "\xef\xbf\xbf",
                                   "ünï",
                                   "\xf0\x9f\x9a\x80",
                                   "'",
                                   "\"",
                                   "\\",
                                   "[a]",
                                   "{a}",
                                   "*a",
                                   "&a",
                                   "!a",
                                   "|",
                                   ">",
                                   "%a",
                                   "@a",
                                   "`a",
                                   "=",
                                   "<<",
                                   "a,b",
                                   "---",
                                   "...",
                                   "python3 train.py --lr 0.1",
                                   "12:30",
                                   "2024-01-01",
                                   "a\r\nb",
                                   "key:",
                                   "1_000",
                                   "a\n\tb"}) {
        for (auto const& node :
             {text_node(text), yaml::Node(yaml::Node::List{text_node(text)}, {}),
              yaml::Node(std::vector<yaml::Node::Entry>{{"k" + text, {}, text_node(text)}}, {})}) {
            auto const rendered = yaml::render_yaml(node);
            BOOST_TEST((must(yaml::parse_document(rendered, "again")) == node), rendered);
        }
    }
}

BOOST_AUTO_TEST_CASE(characters_that_pyyaml_refuses_are_written_as_escapes) {
    BOOST_TEST(yaml::render_yaml(text_node("a\xef\xbb\xbf \xef\xbf\xbe\xef\xbf\xbf \xef\xbf\xbd")) ==
               "\"a\\ufeff \\ufffe\\uffff \xef\xbf\xbd\"\n");
}

BOOST_AUTO_TEST_CASE(infinity_and_nan_become_null_in_json) {
    BOOST_TEST(yaml::to_json(must(yaml::parse_document("[.inf, 1.5, 3, true, x, ~]", "a"))).dump() ==
               R"([null,1.5,3,true,"x",null])");
}

BOOST_AUTO_TEST_SUITE_END()
