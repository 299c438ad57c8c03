// Determined's command lines, as data with the expected outcome: each one is accepted or refused with what
// serves instead.
#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::cli;

namespace determined_commands_test {

struct CommandLine {
    bool is_accepted = false;
    std::vector<std::string> words;  // behind `det`
    std::string hint;                // words of the expected hint
};

std::vector<CommandLine> load_command_lines() {
    auto const text = must(read_file(det::test::source_path("tests/unit/cli/determined_command_lines.txt")));
    std::vector<CommandLine> lines;
    for (auto const each : split_lines(text)) {
        std::string const line(each);
        if (line.empty() || line.starts_with("#")) continue;
        CommandLine command;
        command.is_accepted = line.starts_with("ok ");
        BOOST_REQUIRE_MESSAGE(command.is_accepted || line.starts_with("usage "), line);
        auto const bars = line.find(" || ");
        if (bars != line.npos) command.hint = line.substr(bars + 4);
        auto const command_text = line.substr(0, bars);
        auto const words = split(command_text, ' ');
        auto const det = std::ranges::find(words, "det");
        for (auto word = det + 1; word != words.end(); ++word) command.words.emplace_back(*word);
        lines.push_back(std::move(command));
    }
    return lines;
}

}  // namespace determined_commands_test

BOOST_AUTO_TEST_SUITE(determined_commands_test)

BOOST_AUTO_TEST_CASE(every_command_line_of_determined_is_accepted_or_says_what_serves_instead) {
    auto const lines = load_command_lines();
    BOOST_TEST(lines.size() > 100u);
    for (auto const& [is_accepted, words, hint] : lines) {
        auto const line = "det " + join(words, " ");
        auto const parsed = parse_command_line(words);
        if (is_accepted) {
            BOOST_TEST(parsed.has_value(), line << ": " << (parsed ? "" : parsed.error().message));
            continue;
        }
        BOOST_REQUIRE_MESSAGE(!parsed, line << " is accepted");
        auto const& error = parsed.error();
        BOOST_TEST((error.code == codes::usage), line);
        BOOST_TEST(error.message.starts_with("det-submit has no '"), line << ": " << error.message);
        BOOST_TEST(contains(error.hint, hint), line << ": " << error.hint);
        BOOST_TEST(!hint.empty(), line);
    }
}

BOOST_AUTO_TEST_CASE(absent_options_say_what_serves_instead) {
    auto const hint = [](std::vector<std::string> const& words) {
        return must_fail(parse_command_line(words)).hint;
    };
    BOOST_TEST(contains(hint({"m", "list", "-w", "work"}), "one registry"));
    BOOST_TEST(contains(hint({"model", "create", "mnist", "--workspace-name", "work"}), "one registry"));
    BOOST_TEST(contains(hint({"e", "ls", "--show_project"}), "experiment config ID"));
    BOOST_TEST(contains(hint({"task", "list", "--yaml"}), "--json"));
}

BOOST_AUTO_TEST_CASE(the_help_of_an_absent_command_says_what_serves_instead) {
    for (auto const& words : {std::vector<std::string>{"shell"},
                              {"shell", "--help"},
                              {"help", "shell"},
                              {"e", "set", "weight", "--help"}})
        BOOST_TEST(must_fail(parse_command_line(words)).message.starts_with("det-submit has no '"),
                   join(words, " "));
    // Others are misspelled.
    BOOST_TEST(must_fail(parse_command_line({"shel"})).message == "there is no command 'shel'");
    BOOST_TEST(contains(must_fail(parse_command_line({"e", "lst"})).hint, "experiment list"));
}

BOOST_AUTO_TEST_SUITE_END()
