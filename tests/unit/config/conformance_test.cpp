// The runner of conformance cases distinguishes cases that pass from cases that fail.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <sstream>

#include "config_support.hpp"
#include "conformance_case.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::config;
using namespace det::config::conformance;
using Verdict = CaseOutcome::Verdict;

namespace conformance_test {

std::vector<ConformanceCase> cases(std::string_view text) {
    return must(parse_conformance_cases(text, "cases.yaml"));
}

CaseOutcome run(std::string_view text) { return run_case(cases(text).at(0)); }

bool holds(std::string_view text) { return run(text).verdict == Verdict::ok; }

struct FileOutcome {
    ExitCode exit_code;
    std::string out;
    std::string err;
};

FileOutcome run_file(std::string_view text) {
    TemporaryDirectory const directory;
    must(write_file(directory / "cases.yaml", text));
    std::ostringstream out, err;
    auto const exit_code = run_case_file((directory / "cases.yaml").string(), out, err);
    return {exit_code, out.str(), err.str()};
}

std::string why_not(std::string_view text) {
    auto const outcome = run(text);
    BOOST_TEST((outcome.verdict == Verdict::not_ok), text);
    return outcome.why;
}

}  // namespace conformance_test

BOOST_AUTO_TEST_SUITE(conformance_test)

BOOST_AUTO_TEST_CASE(a_schema_has_a_url_or_its_last_part) {
    BOOST_TEST(holds(
        "[{name: n, sane_as: ['http://determined.ai/schemas/expconf/v0/length.json'], case: {batches: 1}}]"));
    BOOST_TEST(holds("[{name: n, sane_as: [length.json], case: {batches: 1}}]"));
    BOOST_TEST(contains(why_not("[{name: n, sane_as: [lenght.json], case: {batches: 1}}]"),
                        "no schema 'lenght.json'"));
}

BOOST_AUTO_TEST_CASE(what_is_refused_does_not_pass_for_sane) {
    BOOST_TEST(
        contains(why_not("[{name: n, sane_as: [length.json], case: {batches: -1}}]"), "<config>.batches: "));
    BOOST_TEST(contains(why_not("[{name: n, complete_as: [gcs.json], case: {type: gcs}}]"), "bucket"));
    BOOST_TEST(
        contains(why_not("[{name: n, creatable_as: [searcher.json], case: {name: custom, metric: m}}]"),
                 "no longer supported"));
}

BOOST_AUTO_TEST_CASE(what_is_accepted_does_not_pass_for_refused) {
    BOOST_TEST(contains(why_not("[{name: n, sanity_errors: {length.json: [x]}, case: {batches: 1}}]"),
                        "accepts it"));
    BOOST_TEST(contains(why_not("[{name: n, sanity_errors: {gcs.json: [bucket]}, case: {type: gcs}}]"),
                        "accepts it"));
}

BOOST_AUTO_TEST_CASE(every_pattern_has_to_be_found) {
    constexpr std::string_view two = "[{name: n, case: {batches: -1, x: 1}, sanity_errors: {length.json: [";
    BOOST_TEST(holds(std::string(two) + R"('^<config>\.batches: must be >= 0', additionalProperties]}}])"));
    BOOST_TEST(contains(why_not(std::string(two) + "batches, nonsense]}}]"), "nothing matches 'nonsense'"));
    BOOST_TEST(contains(why_not(std::string(two) + "'(']}}]"), "no regular expression"));
}

BOOST_AUTO_TEST_CASE(paths_are_those_of_determined) {
    BOOST_TEST(
        holds(R"([{name: n, case: [{host_path: /a, container_path: /b}, {host_path: a, container_path: .}],
        sanity_errors: {bind-mounts.json: ['^<config>\[1\]\.host_path: host_path must be an absolute path',
                                           '^<config>\[1\]\.container_path: container_path must not be "\."$']}}])"));
}

BOOST_AUTO_TEST_CASE(defaults_are_compared_key_by_key) {
    constexpr std::string_view device =
        "[{name: n, default_as: device.json, case: {host_path: /a, container_path: /b}, defaulted: "
        "{host_path: /a, ";
    auto const expecting = [&](std::string_view rest) {
        return std::string(device) + std::string(rest) + "}}]";
    };
    BOOST_TEST(holds(expecting("container_path: /b, mode: mrw")));
    BOOST_TEST(holds(expecting("container_path: '*', mode: '*'")));
    BOOST_TEST(holds(expecting("container_path: /b, mode: mrw, more: null")));
    BOOST_TEST(contains(why_not(expecting("container_path: /b, mode: r")),
                        "<config>.mode is the string 'mrw', expected the string 'r'"));
    BOOST_TEST(contains(why_not(expecting("container_path: /b")), "<config>.mode"));
    BOOST_TEST(
        contains(why_not(expecting("container_path: /b, mode: mrw, more: '*'")), "<config>.more is nothing"));
}

BOOST_AUTO_TEST_CASE(merging_needs_two_sane_sides_that_fit) {
    BOOST_TEST(
        holds("[{name: n, merge_as: gcs.json, case: {type: gcs}, merge_src: {bucket: b}, merged: {type: gcs, "
              "bucket: b, prefix: null}}]") == false);  // gcs.json requires `type` in the lower layer too
    BOOST_TEST(
        holds("[{name: n, merge_as: checkpoint-storage.json, case: {type: gcs}, merge_src: {bucket: b}, "
              "merged: {type: gcs, bucket: b, prefix: null}}]"));
    BOOST_TEST(
        contains(why_not("[{name: n, merge_as: length.json, case: {batches: 1}, merge_src: {days: 1}}]"),
                 "one side is not valid"));
    BOOST_TEST(contains(
        why_not("[{name: n, merge_as: experiment.json, case: {data: {a: [1]}}, merge_src: {data: {a: x}}}]"),
        "data.a is a list here"));
}

BOOST_AUTO_TEST_CASE(what_is_no_matter_of_ours_is_skipped) {
    BOOST_TEST(
        (run("[{name: n, sane_as: ['http://determined.ai/schemas/expconf/v0/test-root.json'], case: 1}]")
             .verdict == Verdict::skipped));
    BOOST_TEST((run("[{name: n, sanity_errors: {environment.json: [x]}, case: {pod_spec: {}}}]").verdict ==
                Verdict::skipped));
    BOOST_TEST(holds("[{name: n, sane_as: [environment.json], case: {pod_spec: {}}}]"));
}

BOOST_AUTO_TEST_CASE(what_is_no_case_file_is_refused_with_its_place) {
    for (auto const& [text, told] : std::vector<std::pair<std::string_view, std::string_view>>{
             {"name: x", "a case file is a list of cases, found a map"},
             {"", "found nothing"},
             {"[{case: 1}]", "'name' is missing"},
             {"[{name: n, sane: [x]}]", "unknown key 'sane'"},
             {"[{name: n, sane_as: x}]", "must be a list of strings"},
             {"[{name: n, sanity_errors: [x]}]", "must be a map of URLs to lists"}}) {
        auto const problems = must_fail(parse_conformance_cases(text, "cases.yaml"));
        BOOST_TEST(contains(explain(problems), told), text << ": " << explain(problems));
        BOOST_TEST(contains(explain(problems), "cases.yaml:1:"));
        BOOST_TEST(to_int(problems.exit_code()) == 3);
    }
}

BOOST_AUTO_TEST_CASE(each_case_prints_a_line) {
    auto const outcome = run_file(
        "- {name: good, sane_as: [length.json], case: {batches: 1}}\n"
        "- {name: bad, sane_as: [length.json], case: {}}\n"
        "- {name: other, sane_as: [test-root.json], case: {}}\n");
    BOOST_TEST((outcome.exit_code == ExitCode::could_not));
    auto const lines = split_lines(outcome.out);
    BOOST_REQUIRE(lines.size() == 3u);
    BOOST_TEST(lines[0] == "ok good");
    BOOST_TEST(lines[1].starts_with("not ok bad: length refuses it: <config>: "));
    BOOST_TEST(lines[2].starts_with("skip other: "));
    BOOST_TEST(outcome.err == "1 passed, 1 failed, 1 skipped\n");
}

BOOST_AUTO_TEST_CASE(passing_cases_give_success) {
    BOOST_TEST(
        (run_file("[{name: good, sane_as: [length.json], case: {batches: 1}}]").exit_code == ExitCode::done));
}

BOOST_AUTO_TEST_CASE(an_invalid_and_a_missing_case_file_have_different_codes) {
    BOOST_TEST((run_file("name: x\n").exit_code == ExitCode::bad_file));
    BOOST_TEST((run_file("[{name: x").exit_code == ExitCode::bad_file));
    std::ostringstream out, err;
    BOOST_TEST((run_case_file("/nowhere/none.yaml", out, err) == ExitCode::absent));
}

BOOST_AUTO_TEST_SUITE_END()
