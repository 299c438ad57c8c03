// Every command has its manual, and the manual says everything that the command takes.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <set>

#include "cli_support.hpp"
#include "golden.hpp"
#include "help_pages.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace pages_test {

std::string full_name(CommandEntry const& entry) {
    return entry.group.empty() ? std::string(entry.name) : fmt::format("{} {}", entry.group, entry.name);
}

/// Whether the page contains the option as a whole, not as the beginning of a longer option.
bool mentions(std::string_view page, std::string_view option) {
    for (auto at = page.find(option); at != std::string_view::npos; at = page.find(option, at + 1)) {
        auto const before = at == 0 ? ' ' : page[at - 1];
        auto const after = at + option.size() < page.size() ? page[at + option.size()] : ' ';
        bool const part_of_word = before == '-' || after == '-' ||
                                  std::isalnum(static_cast<unsigned char>(before)) != 0 ||
                                  std::isalnum(static_cast<unsigned char>(after)) != 0;
        if (!part_of_word) return true;
    }
    return false;
}

}  // namespace pages_test

BOOST_AUTO_TEST_SUITE(pages_test)

BOOST_AUTO_TEST_CASE(the_overview_names_every_command) {
    auto const overview = must(parse_command_line({"--help"})).text;
    check_golden("cli/help.txt", overview);
    for (auto const& entry : command_table()) BOOST_TEST(contains(overview, full_name(entry)));
}

BOOST_AUTO_TEST_CASE(every_command_prints_its_page) {
    for (auto const& entry : command_table()) {
        BOOST_TEST_CONTEXT(full_name(entry)) {
            std::vector<std::string> arguments{std::string(entry.name), "--help"};
            if (!entry.group.empty()) arguments.insert(arguments.begin(), std::string(entry.group));
            auto const invocation = must(parse_command_line(arguments));
            BOOST_TEST(invocation.command == nullptr);
            BOOST_TEST(invocation.text.starts_with("# det-submit " + full_name(entry) + "\n"));
            BOOST_TEST(contains(invocation.text, "\n    det-submit " + full_name(entry)));
            BOOST_TEST(contains(invocation.text, "\n## Exit codes\n"));
        }
    }
}

BOOST_AUTO_TEST_CASE(every_option_is_on_the_page_of_its_command) {
    for (auto const& entry : command_table()) {
        auto const page = find_page(entry.page_name());
        std::vector<std::string> names{"--json"};
        auto const command = entry.make();
        for (auto const& option : command->options()) {
            for (auto const name : split(option.names, ',')) {
                if (name.starts_with("-")) names.emplace_back(name);
            }
        }
        for (auto const& name : names) {
            BOOST_TEST(mentions(page, name), full_name(entry) << " does not mention " << name);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_page_belongs_to_a_command) {
    std::filesystem::path const folder = det::test::source_path("submitter/cli");
    std::set<std::string> names;
    for (auto const& entry : command_table()) names.insert(entry.page_name());
    for (auto const& file : std::filesystem::recursive_directory_iterator(folder)) {
        auto name = file.path().lexically_relative(folder);
        bool const describes_routes = name == "tracker/api/API.md";
        if (name.extension() != ".md" || name == "README.md" || describes_routes) continue;
        BOOST_TEST(names.contains(name.replace_extension().string()), name.string());
    }
    BOOST_TEST(find_page("nonsense").empty());
}

BOOST_AUTO_TEST_CASE(every_command_has_a_page_of_its_name) {
    std::filesystem::path const folder = det::test::source_path("submitter/cli");
    for (auto const& entry : command_table())
        BOOST_TEST(std::filesystem::exists(folder / (entry.page_name() + ".md")), full_name(entry));
}

BOOST_AUTO_TEST_CASE(aliases_name_existing_groups) {
    for (auto const& alias : group_aliases()) {
        auto const table = command_table();
        BOOST_TEST(std::any_of(table.begin(), table.end(),
                               [&](auto const& entry) { return entry.group == alias.group; }),
                   alias.alias);
    }
}

BOOST_AUTO_TEST_SUITE_END()
