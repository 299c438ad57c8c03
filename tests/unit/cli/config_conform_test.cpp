#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace config_conform_test {

struct Fixture : CliFixture {
    int conform(std::string_view cases, std::string const& options = "") {
        auto const file = directory / "cases.yaml";
        must(write_file(file, cases));
        return run("config conform " + file.string() + options);
    }
};

constexpr std::string_view all_three =
    "- {name: good, sane_as: [length.json], case: {batches: 1}}\n"
    "- {name: bad, sane_as: [length.json], case: {}}\n"
    "- {name: other, sane_as: [test-root.json], case: {}}\n";

}  // namespace config_conform_test

BOOST_FIXTURE_TEST_SUITE(config_conform_test, Fixture)

BOOST_AUTO_TEST_CASE(each_case_prints_a_line) {
    BOOST_TEST(conform(all_three) == to_int(ExitCode::could_not));
    auto const lines = split_lines(out);
    BOOST_REQUIRE(lines.size() == 3u);
    BOOST_TEST(lines[0] == "ok good");
    BOOST_TEST(lines[1].starts_with("not ok bad: length refuses it: <config>: "));
    BOOST_TEST(lines[2].starts_with("skip other: "));
    BOOST_TEST(contains(err, "1 passed, 1 failed, 1 skipped"));
}

BOOST_AUTO_TEST_CASE(passing_cases_give_success) {
    BOOST_TEST(conform("[{name: good, sane_as: [length.json], case: {batches: 1}}]") == 0);
}

BOOST_AUTO_TEST_CASE(the_outcomes_are_printed_as_json) {
    BOOST_TEST(conform(all_three, " --json") == to_int(ExitCode::could_not));
    auto const answer = parse_json(out);
    BOOST_TEST(answer["cases"].size() == 3u);
    BOOST_TEST(answer["cases"][0] == (Json{{"name", "good"}, {"outcome", "ok"}, {"why", ""}}));
    BOOST_TEST(answer["cases"][1]["outcome"] == "not ok");
    BOOST_TEST(answer["cases"][2]["outcome"] == "skip");
}

BOOST_AUTO_TEST_CASE(an_invalid_and_a_missing_case_file_have_different_codes) {
    BOOST_TEST(conform("name: x\n") == to_int(ExitCode::bad_file));
    BOOST_TEST(conform("[{name: x") == to_int(ExitCode::bad_file));
    BOOST_TEST(run("config conform " + (directory / "none.yaml").string()) == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_SUITE_END()
