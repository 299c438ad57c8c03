#include <det/yaml/parse.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "check_result.hpp"

using namespace det;
using yaml::Kind;

namespace scalar_test {

yaml::Node value_of(std::string const& text) {
    auto const document = must(yaml::parse_document("key: " + text + "\n", "exp.yaml"));
    return *document.find("key");
}

}  // namespace scalar_test

BOOST_AUTO_TEST_SUITE(scalar_test)

BOOST_AUTO_TEST_CASE(unquoted_scalars_follow_the_core_schema) {
    struct Row {
        std::string text;
        Kind kind;
    };
    Row const rows[] = {
        {"", Kind::null},         {"~", Kind::null},          {"null", Kind::null},
        {"Null", Kind::null},     {"nul", Kind::text},        {"true", Kind::boolean},
        {"True", Kind::boolean},  {"FALSE", Kind::boolean},   {"tRUE", Kind::text},
        {"yes", Kind::text},      {"no", Kind::text},         {"on", Kind::text},
        {"off", Kind::text},      {"0", Kind::integer},       {"-17", Kind::integer},
        {"+3", Kind::integer},    {"010", Kind::integer},     {"0x1F", Kind::integer},
        {"0o17", Kind::integer},  {"0b11", Kind::text},       {"1_000", Kind::text},
        {"12:30:45", Kind::text}, {"1.5", Kind::real},        {"1.", Kind::real},
        {".5", Kind::real},       {"1e-3", Kind::real},       {"1E5", Kind::real},
        {"-.inf", Kind::real},    {".nan", Kind::real},       {"+.nan", Kind::text},
        {".", Kind::text},        {"1e", Kind::text},         {"e5", Kind::text},
        {"-", Kind::text},        {"1.2.3", Kind::text},      {"'5'", Kind::text},
        {"\"true\"", Kind::text}, {"2024-01-01", Kind::text}, {"'null'", Kind::text},
        {"''", Kind::text},
    };
    for (auto const& row : rows) {
        if (row.text == "-") continue;  // a list with a null, below
        BOOST_TEST(static_cast<int>(value_of(row.text).kind()) == static_cast<int>(row.kind), row.text);
    }
}

BOOST_AUTO_TEST_CASE(numbers_have_the_value_that_is_written) {
    BOOST_TEST(*value_of("010").integer() == 10);
    BOOST_TEST(*value_of("0x1F").integer() == 31);
    BOOST_TEST(*value_of("0o17").integer() == 15);
    BOOST_TEST(*value_of("-9223372036854775808").integer() == INT64_MIN);
    BOOST_TEST(*value_of("1e-3").number() == 0.001);
    BOOST_TEST(*value_of("7").number() == 7.0);
    BOOST_TEST(std::isinf(*value_of(".Inf").number()));
    BOOST_TEST(std::isnan(*value_of(".NaN").number()));
}

BOOST_AUTO_TEST_CASE(a_number_that_64_bits_cannot_hold_is_refused_and_not_rounded) {
    for (std::string const text : {"9223372036854775808", "1e999", "0xFFFFFFFFFFFFFFFFF"}) {
        auto const problems = must_fail(yaml::parse_document("key: " + text + "\n", "exp.yaml"));
        BOOST_TEST(explain(problems).find("[bad-value]") != std::string::npos, text);
    }
    BOOST_TEST(*value_of("'9223372036854775808'").text() == "9223372036854775808");
}

BOOST_AUTO_TEST_CASE(tags_of_the_core_schema_decide_the_type) {
    BOOST_TEST(*value_of("!!str 5").text() == "5");
    BOOST_TEST(*value_of("!!int '5'").integer() == 5);
    BOOST_TEST(*value_of("!!float 5").number() == 5.0);
    BOOST_TEST(*value_of("! 5").text() == "5");
    BOOST_TEST(value_of("!!null ''").is_null());
    BOOST_TEST(value_of("!!map {a: 1}").is_map());
    BOOST_TEST(value_of("!!seq [1]").is_list());
    BOOST_TEST(*value_of("!<tag:yaml.org,2002:int> 3").integer() == 3);
}

BOOST_AUTO_TEST_CASE(other_tags_are_refused) {
    for (std::string const text : {"!!binary aGk=", "!python/object:os.system x", "!!set {a}", "!!int x",
                                   "!!map [1]", "!!omap [a: 1]", "!!bool yes"}) {
        auto const problems = must_fail(yaml::parse_document("key: " + text + "\n", "exp.yaml"));
        BOOST_TEST(to_int(problems.exit_code()) == 3, text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
