#include <det/tracker/http/message.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <random>

#include "check_result.hpp"

using namespace det;
using namespace det::tracker::http;

BOOST_AUTO_TEST_SUITE(http_target)

BOOST_AUTO_TEST_CASE(a_path_and_a_query_are_decoded_once) {
    auto const target = must(parse_target("/v1/a%20b/%2541?name=x%26y+z&flag&empty="));
    BOOST_TEST(target.segments == (std::vector<std::string>{"v1", "a b", "%41"}));
    BOOST_TEST((target.query == Query{{"name", "x&y z"}, {"flag", ""}, {"empty", ""}}));
    BOOST_TEST(must(parse_target("/")).segments.empty());
    BOOST_TEST(must(parse_target("/a+b")).segments.front() == "a+b");
}

BOOST_DATA_TEST_CASE(ambiguous_targets_are_refused,
                     (std::vector<std::string>{"",        "v1",        "*",         "http://localhost/v1",
                                               "//",      "/v1/",      "/v1//x",    "/.",
                                               "/..",     "/v1/../x",  "/%2e%2e/x", "/a%2Fb",
                                               "/a%",     "/a%2",      "/a%zz",     "/a%00b",
                                               "/a%0ab",  "/a%7f",     "/%ff",      "/%c0%af",
                                               "/v1#x",   "/?a=1&a=2", "/?=1",      "/?a=\x01",
                                               "/?a=%ff", "/?a%0d=1"})) {
    BOOST_TEST(must_fail(parse_target(sample)).code.name == codes::bad_request.name);
}

BOOST_AUTO_TEST_CASE(the_value_of_a_parameter_is_any_text) {
    std::string const name("a\x01 \r\n\x7f\0b", 8);
    auto const target = must(parse_target("/series?metric=" + percent_encode(name)));
    BOOST_TEST(target.query.at("metric") == name);
}

BOOST_AUTO_TEST_CASE(limits_of_targets_hold_on_both_sides) {
    std::string const longest(target_size_limit_bytes - 1, 'a');
    BOOST_TEST(parse_target("/" + longest).has_value());
    BOOST_TEST(!parse_target("/a" + longest).has_value());
    std::string query = "/?p0=";
    for (std::size_t index = 1; index < query_parameters_max; ++index)
        query += "&p" + std::to_string(index) + "=";
    BOOST_TEST(must(parse_target(query)).query.size() == query_parameters_max);
    BOOST_TEST(!parse_target(query + "&more").has_value());
}

BOOST_AUTO_TEST_CASE(any_text_survives_encoding) {
    std::mt19937 random(7);
    for (int round = 0; round < 500; ++round) {
        std::string text;
        for (auto size = 1 + random() % 20; size > 0; --size) {
            char const c = static_cast<char>(' ' + random() % 95);
            text += c == '/' || c == '.' ? 'x' : c;
        }
        text += "ü";
        auto const target = must(parse_target("/" + percent_encode(text) + "?v=" + percent_encode(text)));
        BOOST_TEST(target.segments.front() == text);
        BOOST_TEST(target.query.at("v") == text);
    }
}

BOOST_AUTO_TEST_CASE(errors_survive_the_way_to_the_client) {
    Error const error{codes::no_such_trial, "experiment 7 has no trial 3", "see it", {}, {"while reading"}};
    auto const response = error_response(error);
    BOOST_TEST(response.status == 404);
    BOOST_TEST(explain(parse_error_response(response)) == explain(error));
    BOOST_TEST(status_of(Error{codes::slurm_unreachable, "x"}) == 503);
    BOOST_TEST(status_of(Error{codes::timed_out, "x"}) == 504);
    BOOST_TEST(status_of(Error{codes::damaged, "x"}) == 500);
    BOOST_TEST(status_of(Error{codes::bad_value, "x"}) == 400);
    for (auto const* body :
         {"", "{", "[]", "{\"error\": 3}", "{\"error\": {\"message\": 3}}", "{\"error\": null}"})
        BOOST_TEST(parse_error_response({500, body}).code.name == codes::transport.name);
    // Invalid UTF-8 in a file name can't break the response.
    BOOST_TEST(error_response(Error{codes::damaged, "\xff"}).body.find("damaged") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
