#include "arguments.hpp"

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace arguments_test {

std::string text_of(std::vector<std::string> const& arguments) {
    auto const invocation = must(parse_command_line(arguments));
    BOOST_TEST(invocation.command == nullptr);
    return invocation.text;
}

/// A refused command line: every one is codes::usage.
Error refusal(std::vector<std::string> const& arguments) {
    auto error = must_fail(parse_command_line(arguments));
    BOOST_TEST((error.code == codes::usage), error.message);
    return error;
}

}  // namespace arguments_test

BOOST_AUTO_TEST_SUITE(arguments_test)

BOOST_AUTO_TEST_CASE(help_and_version_are_texts) {
    auto const overview = text_of({"--help"});
    for (auto const* help : {"-h", "help"}) BOOST_TEST(text_of({help}) == overview);
    BOOST_TEST(text_of({"--version"}).starts_with("det-submit "));
    BOOST_TEST(text_of({"--version"}).ends_with("\n"));
    BOOST_TEST(text_of({"version"}) == text_of({"--version"}));
}

BOOST_AUTO_TEST_CASE(help_of_a_group_lists_its_commands) {
    auto const help = text_of({"template", "--help"});
    BOOST_TEST(help.find("  template set-value  ") != std::string::npos);
    BOOST_TEST(help.find("experiment") == std::string::npos);
    for (auto const& line : std::vector<std::vector<std::string>>{
             {"template", "help"}, {"tpl", "help"}, {"tpl", "-h"}, {"help", "template"}, {"help", "tpl"}})
        BOOST_TEST(text_of(line) == help);
}

BOOST_AUTO_TEST_CASE(help_before_a_command_is_its_page) {
    auto const page = text_of({"experiment", "set", "name", "--help"});
    BOOST_TEST(text_of({"e", "help", "set", "name"}) == page);
    BOOST_TEST(text_of({"help", "e", "set", "name"}) == page);
    BOOST_TEST(refusal({"e", "help", "creat"}).hint == "use 'det-submit experiment create'");
    BOOST_TEST(refusal({"help", "frobnicate"}).message == "there is no command 'frobnicate'");
}

BOOST_AUTO_TEST_CASE(a_command_of_a_group_is_suggested_by_its_whole_name) {
    BOOST_TEST(refusal({"compare", "1", "2"}).hint == "use 'det-submit experiment compare'");
    BOOST_TEST(
        refusal({"create", "first.yaml"}).hint ==
        "use 'det-submit experiment create' or 'det-submit model create' or 'det-submit template create'");
}

BOOST_AUTO_TEST_CASE(a_group_without_a_command_lists) {
    for (auto const* group : {"experiment", "e", "job", "checkpoint", "template", "resource-pool", "task"}) {
        // The list of checkpoints needs an experiment and says so.
        if (std::string_view(group) == "checkpoint") {
            BOOST_TEST(refusal({group}).hint == "see 'det-submit checkpoint list --help'");
        } else {
            BOOST_TEST(must(parse_command_line({group})).command != nullptr, group);
        }
    }
    auto const invocation = must(parse_command_line({"j", "--json", "-p", "compute"}));
    BOOST_TEST((invocation.format == Format::json));
    BOOST_REQUIRE(invocation.command != nullptr);
    for (auto const& option : invocation.command->options()) {
        if (option.names == "-p,--resource-pool")
            BOOST_TEST(std::get<std::optional<std::string>*>(option.target)->value_or("") == "compute");
    }
    BOOST_TEST(refusal({"trial"}).message == "'det-submit trial' needs a command");
    BOOST_TEST(refusal({"trial"}).hint == "see 'det-submit trial --help'");
}

BOOST_AUTO_TEST_CASE(options_for_a_master_are_accepted_with_a_warning) {
    for (auto const& line : std::vector<std::vector<std::string>>{
             {"-m", "http://master:8080", "e", "list"}, {"--master=http://master:8080", "e", "list"}}) {
        auto const invocation = must(parse_command_line(line));
        BOOST_TEST(invocation.command != nullptr);
        BOOST_REQUIRE(invocation.warnings.sorted().size() == 1u);
        BOOST_TEST(invocation.warnings.sorted()[0].error.message ==
                   "--master has no effect: there is no master");
        BOOST_TEST(!invocation.warnings.has_errors());
    }
    auto const both = must(parse_command_line({"-u", "alice", "-m", "host", "version"}));
    BOOST_TEST(both.warnings.sorted().size() == 2u);
    BOOST_TEST(refusal({"-m"}).message == "'-m' needs a value");
    BOOST_TEST(text_of({"-m", "host"}) == text_of({}));
    // After the command these are options of the command.
    BOOST_TEST(must(parse_command_line({"job", "list", "-u", "alice"})).warnings.empty());
}

BOOST_AUTO_TEST_CASE(without_a_command_the_first_steps_are_shown) {
    auto const page = text_of({});
    for (auto const* step : {"det-submit run first.yaml code", "det-submit ls", "det-submit logs last -f"})
        BOOST_TEST(page.find(step) != std::string::npos, page);
}

BOOST_AUTO_TEST_CASE(aliases_stand_for_their_groups) {
    auto const page = text_of({"experiment", "list", "--help"});
    BOOST_TEST(text_of({"e", "list", "--help"}) == page);
    BOOST_TEST(text_of({"exp", "list", "-h"}) == page);
    BOOST_TEST(text_of({"t", "logs", "-h"}) == text_of({"trial", "logs", "-h"}));
    BOOST_TEST(text_of({"j", "list", "-h"}) == text_of({"job", "list", "-h"}));
    BOOST_TEST(refusal({"e", "creat"}).hint == "use 'det-submit experiment create'");
}

BOOST_AUTO_TEST_CASE(an_unknown_command_is_reported_with_the_nearest_or_all_commands) {
    BOOST_TEST(refusal({"experimnt", "list"}).hint == "use 'det-submit experiment'");
    BOOST_TEST(
        refusal({"frobnicate"}).hint ==
        "commands: checkpoint, completion, config, dump, experiment, job, logs, ls, model, resource-pool, "
        "run, search, site, status, stop, task, template, tensorboard, top, tracker, trial, web");
    BOOST_TEST(refusal({"trial", "metric"}).hint == "use 'det-submit trial metrics'");
    BOOST_TEST(refusal({"trial", "logs", "1", "--follw", "--tial=3"}).message ==
               "there is no option '--follw'");
    BOOST_TEST(refusal({"trial", "logs", "1", "--follw"}).hint == "use '--follow'");
    BOOST_TEST(refusal({"trial", "logs", "1", "--tial=3"}).hint == "use '--tail'");
    BOOST_TEST(refusal({"trial", "logs", "1", "-g"}).hint == "see 'det-submit trial logs --help'");
    BOOST_TEST(refusal({"trial", "logs", "1", "2"}).message == "there is an argument too many: '2'");
    BOOST_TEST(refusal({"trial", "frobnicate"}).hint ==
               "it has: describe, download, kill, logs, metrics, profile, shell");
    BOOST_TEST(refusal({"trial", "frobnicate"}).message == "there is no command 'trial frobnicate'");
    BOOST_TEST(refusal({"--root", "/tmp", "ls"}).message ==
               "the option '--root' is where the command must be");
    BOOST_TEST(refusal({"--root", "/tmp", "ls"}).hint ==
               "write options after the command: det-submit COMMAND --root ...");
}

BOOST_AUTO_TEST_CASE(wrong_options_refer_to_the_manual) {
    std::vector<std::vector<std::string>> const mistakes{
        {"experiment", "wait", "1", "--nope"},    {"experiment", "wait"},
        {"experiment", "wait", "1", "2"},         {"experiment", "wait", "1", "--timeout", "soon"},
        {"experiment", "wait", "1", "--timeout"},
    };
    for (auto const& mistake : mistakes)
        BOOST_TEST(refusal(mistake).hint == "see 'det-submit experiment wait --help'");
    BOOST_TEST(refusal({"trial", "logs", "1", "--rank", "-1"}).hint == "see 'det-submit trial logs --help'");
    BOOST_TEST(refusal({"dump"}).hint == "see 'det-submit dump --help'");
}

BOOST_AUTO_TEST_CASE(help_is_printed_despite_wrong_options) {
    BOOST_TEST(
        text_of({"experiment", "wait", "--nope", "--help"}).starts_with("# det-submit experiment wait"));
}

BOOST_AUTO_TEST_CASE(every_command_accepts_json) {
    for (auto const& entry : command_table()) {
        auto const command = entry.make();
        std::vector<std::string> arguments{std::string(entry.name), "--json"};
        if (!entry.group.empty()) arguments.insert(arguments.begin(), std::string(entry.group));
        for (auto const& option : command->options()) {
            if (option.need == Need::required)
                arguments.push_back(option.choices.empty() ? "1" : option.choices[0]);
        }
        auto const invocation = must(parse_command_line(arguments));
        BOOST_TEST((invocation.format == Format::json), entry.page_name());
        BOOST_TEST(invocation.command != nullptr);
    }
}

BOOST_AUTO_TEST_CASE(arguments_set_the_members_in_the_option_table) {
    // `experiment create` has every kind of argument; positional arguments may follow options.
    for (auto const& line : std::vector<std::vector<std::string>>{
             {"e", "create", "exp.yaml", "code", "--config", "a=1", "--config", "b=2"},
             {"e", "create", "--config", "a=1", "exp.yaml", "--config", "b=2", "code"},
             {"e", "create", "--config", "a=1", "--config", "b=2", "exp.yaml", "code"},
             {"e", "create", "--config=a=1", "--config=b=2", "--dry-run", "exp.yaml", "code"}}) {
        auto const invocation = must(parse_command_line(line));
        for (auto const& option : invocation.command->options()) {
            if (option.names == "config")
                BOOST_TEST(std::get<std::optional<std::string>*>(option.target)->value_or("") == "exp.yaml");
            if (option.names == "context")
                BOOST_TEST(
                    *std::get<std::vector<std::string>*>(option.target) == std::vector<std::string>{"code"},
                    boost::test_tools::per_element());
            if (option.names == "--config")
                BOOST_TEST(*std::get<std::vector<std::string>*>(option.target) ==
                               (std::vector<std::string>{"a=1", "b=2"}),
                           boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(the_first_argument_is_found_after_options_and_their_values) {
    bool flag = false;
    std::optional<std::string> value;
    std::vector<std::string> list;
    std::vector<command_line::Option> const options{
        {"-f,--flag", &flag}, {"-v,--value", &value}, {"--list", &list}, {"words", &list}};
    auto const first = [&](std::vector<std::string> const& words) {
        auto const found = command_line::find_first_argument(options, words);
        return found ? static_cast<int>(*found) : -1;
    };
    BOOST_TEST(first({"job", "--flag"}) == 0);
    BOOST_TEST(first({"--flag", "job"}) == 1);
    BOOST_TEST(first({"--value", "x", "job"}) == 2);
    BOOST_TEST(first({"--value=x", "job"}) == 1);
    BOOST_TEST(first({"-v", "x", "--list", "y", "--list=z", "job"}) == 5);
    BOOST_TEST(first({"-fv", "x", "job"}) == 2);
    BOOST_TEST(first({"-vx", "-f", "job"}) == 2);
    BOOST_TEST(first({"--unknown", "-", "job"}) == 1);
    BOOST_TEST(first({"--flag", "--", "-job"}) == 2);
    BOOST_TEST(first({"--value", "x"}) == -1);
    BOOST_TEST(first({"--value"}) == -1);
    BOOST_TEST(first({"--"}) == -1);
}

BOOST_AUTO_TEST_CASE(config_check_takes_several_files) {
    auto const invocation = must(parse_command_line({"config", "check", "a", "b", "--template", "t", "c"}));
    auto const options = invocation.command->options();
    BOOST_TEST(std::get<std::vector<std::string>*>(options.at(0).target)->size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
