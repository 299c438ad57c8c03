#include "test_listing.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "check_result.hpp"
#include "test_paths.hpp"

namespace det::test {
namespace {

/// The names that ctest lists.
std::set<std::string> listed_tests() {
    auto const listing = must(SystemProcessRunner().run(
        {{"ctest", "--test-dir", built_path(), "-N"}, Environment::of_this_process()}));
    std::set<std::string> names;
    for (auto const line : split_lines(listing.out)) {
        auto const colon = line.find(": ");
        if (trim(line).starts_with("Test ") && colon != std::string_view::npos)
            names.insert(std::string(trim(line.substr(colon + 2))));
    }
    return names;
}

/// The text of all test sources.
std::string test_sources() {
    std::string text;
    for (auto const& file : std::filesystem::recursive_directory_iterator(source_path("tests"))) {
        auto const kind = file.path().extension();
        if (file.is_regular_file() && (kind == ".cpp" || kind == ".py")) text += must(read_file(file.path()));
    }
    return text;
}

}  // namespace

TestListing::TestListing() : programs_(listed_tests()), sources_(test_sources()) {}

void TestListing::require(std::string const& subject, std::string const& test) const {
    bool const has_python = programs_.contains("python_package");  // not in builds with a sanitizer
    auto const slash = test.find('/');
    BOOST_REQUIRE_MESSAGE(slash != std::string::npos, subject << ": '" << test << "' names no test case");
    auto const program = test.substr(0, slash);
    auto const name = test.substr(slash + 1);
    BOOST_TEST((programs_.contains(program) || (!has_python && program.starts_with("python_"))),
               subject << ": ctest does not list '" << program << "'");
    bool const is_there = sources_.find("TEST_CASE(" + name + ")") != std::string::npos ||
                          sources_.find("TEST_CASE(" + name + ",") != std::string::npos ||
                          sources_.find("def " + name + "(") != std::string::npos;
    BOOST_TEST(is_there, subject << ": there is no test case '" << name << "'");
}

}  // namespace det::test
