// Each claim of the guide for users of Determined has tests that show it.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "test_listing.hpp"
#include "test_paths.hpp"

using namespace det;

namespace determined_guide_test {

struct Claim {
    std::string text;
    std::vector<std::string> tests;
};

std::vector<Claim> load_claims() {
    auto const text = must(read_file(test::source_path("tests/unit/config/determined_guide_claims.txt")));
    std::vector<Claim> claims;
    for (auto const line : split_lines(text)) {
        constexpr std::string_view arrow = " => ";
        auto const end = line.find(arrow);
        if (line.starts_with('#') || trim(line).empty()) continue;
        BOOST_REQUIRE_MESSAGE(end != line.npos, line);
        Claim claim{std::string(line.substr(0, end)), {}};
        for (auto const test : split(line.substr(end + arrow.size()), ' ')) claim.tests.emplace_back(test);
        claims.push_back(std::move(claim));
    }
    return claims;
}

/// Adds the sentences of a paragraph, and empties it.
void add_sentences(std::string& paragraph, std::vector<std::string>& statements) {
    while (!paragraph.empty()) {
        auto const end = std::min(paragraph.find(". "), paragraph.size() - 1);
        statements.push_back(paragraph.substr(0, end + 1));
        paragraph.erase(0, end + 2);
    }
}

/// Whether a line is no part of a sentence: empty, a heading, or the name of a file ("`exp.yaml`:").
bool ends_paragraph(std::string_view line) {
    return trim(line).empty() || line.starts_with('#') || (line.starts_with('`') && line.ends_with("`:"));
}

/// The rows of tables without their headings, and the sentences outside of tables and fenced blocks.
std::vector<std::string> statements_of(std::string const& page) {
    std::vector<std::string> statements;
    std::string paragraph;
    bool is_block = false;
    auto const lines = split_lines(page);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto const line = lines[i];
        bool const is_fence = line.starts_with("```");
        bool const is_row = !is_block && line.starts_with('|');
        if (is_fence || is_block || is_row || ends_paragraph(line)) {
            add_sentences(paragraph, statements);
        } else {
            paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
        }
        bool const is_heading = i + 1 < lines.size() && lines[i + 1].starts_with("|---");
        if (is_row && !is_heading && !line.starts_with("|---")) statements.emplace_back(line);
        if (is_fence) is_block = !is_block;
    }
    add_sentences(paragraph, statements);
    return statements;
}

}  // namespace determined_guide_test

BOOST_AUTO_TEST_SUITE(determined_guide_test)

BOOST_AUTO_TEST_CASE(each_claim_of_the_guide_for_users_of_determined_has_tests) {
    auto const statements = statements_of(must(read_file(test::source_path("docs/from-determined.md"))));
    auto const claims = load_claims();
    BOOST_TEST(statements.size() > 30u);
    for (auto const& statement : statements) {
        bool const has_tests = std::ranges::any_of(
            claims, [&](Claim const& claim) { return statement.find(claim.text) != std::string::npos; });
        BOOST_TEST(has_tests, "no test is listed for: " << statement);
    }
    test::TestListing const listing;
    for (auto const& [text, tests] : claims) {
        bool const is_there = std::ranges::any_of(
            statements, [&](std::string const& statement) { return statement.find(text) != statement.npos; });
        BOOST_TEST(is_there, "the guide does not say: " << text);
        BOOST_TEST(!tests.empty(), text);
        for (auto const& test : tests) listing.require(text, test);
    }
}

BOOST_AUTO_TEST_SUITE_END()
