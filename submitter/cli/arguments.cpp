#include "arguments.hpp"

#include <det/experiment/root_directory.hpp>
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "absent_commands.hpp"
#include "experiment_names.hpp"
#include "help_pages.hpp"

namespace det::cli {
namespace {

std::string_view resolve_alias(std::string_view group) {
    for (auto const& alias : group_aliases()) {
        if (alias.alias == group) return alias.group;
    }
    return group;
}

std::string full_name(CommandEntry const& entry) {
    return entry.group.empty() ? std::string(entry.name) : fmt::format("{} {}", entry.group, entry.name);
}

/// Lists the commands of a group, or all commands if the group is empty.
std::string list_commands(std::string_view group) {
    auto const is_listed = [&](auto const& entry) { return group.empty() || entry.group == group; };
    std::size_t width = 0;
    for (auto const& entry : command_table())
        if (is_listed(entry)) width = std::max(width, full_name(entry).size());
    std::string text;
    for (auto const& entry : command_table())
        if (is_listed(entry)) text += fmt::format("  {:<{}}  {}\n", full_name(entry), width, entry.summary);
    return text;
}

/// The short commands and what they are short for.
std::string list_short_commands() {
    std::string text;
    for (auto const& each : short_commands()) {
        auto const full =
            fmt::format("{} {}{}{}", each.group, each.name, each.option.empty() ? "" : " ", each.option);
        text += fmt::format("  {:<8}{}: {}\n", each.word, full, each.summary);
    }
    return text;
}

std::string overview() {
    return fmt::format(
        "det-submit: Determined-style experiments on a Slurm cluster\n\n"
        "usage: det-submit COMMAND ... [--json]\n\n{}\nShort commands:\n{}"
        "\n'det-submit COMMAND --help' is its manual. An experiment is named by its number, its name or "
        "'last'.\n'det' is the same program, and 'det-tracker' is 'det-submit tracker'.\n--root DIR shows "
        "the "
        "experiments of another directory, also those that a colleague shares.\n",
        list_commands(""), list_short_commands());
}

/// What det-submit prints without a command.
std::string start_page() {
    struct Row {
        std::string_view command, meaning;
    };
    constexpr Row rows[] = {
        {"run first.yaml code", "submit an experiment and follow it to its end"},
        {"run job.sbatch", "the same with a batch script"},
        {"ls", "your experiments"},
        {"status last", "the newest one: its trials, and how they ended"},
        {"logs last -f", "what it prints"},
        {"stop last", "end it; its trials may save their work"},
        {"top", "your running trials, live"},
        {"job list", "the queue"},
        {"web", "curves, logs and the queue in a browser"},
    };
    std::string text = "det-submit: experiments on a Slurm cluster\n\n";
    for (auto const& row : rows) text += fmt::format("  det-submit {:<22}{}\n", row.command, row.meaning);
    text +=
        "\nAn experiment is named by its number, by its name, or as 'last'. 'det-submit --help' lists all "
        "commands;\n'det-submit COMMAND --help' is a manual.\n";
    return text;
}

std::string group_overview(std::string_view group) {
    return fmt::format(
        "usage: det-submit {} COMMAND ... [--json]\n\n{}\n'det-submit {} COMMAND --help' is its manual.\n",
        group, list_commands(group), group);
}

/// What serves in place of an option that Determined has. `message` names the option in quotes.
std::optional<std::string> hint_for_absent_option(CommandEntry const& entry, std::string_view message) {
    auto const begin = message.find('\'') + 1;
    return find_absent_option(entry.group, entry.name,
                              message.substr(begin, message.find('\'', begin) - begin));
}

/// "'det-submit experiment create'": the commands of groups that have this name.
std::vector<std::string> list_commands_of_groups(std::string_view name) {
    std::vector<std::string> commands;
    for (auto const& entry : command_table()) {
        if (entry.name == name && !entry.group.empty())
            commands.push_back(fmt::format("'det-submit {} {}'", entry.group, name));
    }
    return commands;
}

Error unknown_command(std::string const& typed, std::string_view group) {
    if (typed.starts_with('-')) {
        return Error{codes::usage, fmt::format("the option '{}' is where the command must be", typed),
                     fmt::format("write options after the command: det-submit COMMAND {} ...", typed)};
    }
    if (auto absent = group.empty() ? find_absent_command(typed, "") : find_absent_command(group, typed))
        return *std::move(absent);
    auto const of_groups = group.empty() ? list_commands_of_groups(typed) : std::vector<std::string>();
    if (!of_groups.empty())
        return Error{codes::usage, fmt::format("there is no command '{}'", typed),
                     fmt::format("use {}", fmt::join(of_groups, " or "))};
    std::vector<std::string_view> candidates;
    for (auto const& entry : command_table()) {
        if (group.empty()) {
            candidates.push_back(entry.group.empty() ? entry.name : entry.group);
        } else if (entry.group == group) {
            candidates.push_back(entry.name);
        }
    }
    if (group.empty()) {
        for (auto const& each : short_commands()) candidates.push_back(each.word);
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    auto const near = nearest_word(typed, candidates);
    auto const where = group.empty() ? std::string() : fmt::format("{} ", group);
    return Error{
        codes::usage, fmt::format("there is no command '{}{}'", where, typed),
        near ? fmt::format("use 'det-submit {}{}'", where, *near)
             : fmt::format("{}: {}", group.empty() ? "commands" : "it has", fmt::join(candidates, ", "))};
}

CommandEntry const* find_command(std::string_view group, std::string_view name) {
    auto const table = command_table();
    auto const found = std::find_if(table.begin(), table.end(), [&](auto const& entry) {
        return entry.group == group && entry.name == name;
    });
    if (found != table.end()) return &*found;
    for (auto const& alias : name_aliases()) {
        if (alias.alias == name && !group.empty()) return find_command(group, alias.name);
    }
    return nullptr;
}

ShortCommand const* find_short_command(std::string_view word) {
    auto const all = short_commands();
    auto const found = std::ranges::find(all, word, &ShortCommand::word);
    return found == all.end() ? nullptr : &*found;
}

bool is_group(std::string_view group) {
    auto const table = command_table();
    return std::any_of(table.begin(), table.end(), [&](auto const& entry) { return entry.group == group; });
}

bool begins_two_words(std::string_view group, std::string_view word) {
    auto const table = command_table();
    return std::any_of(table.begin(), table.end(), [&](auto const& entry) {
        return entry.group == group && entry.name.starts_with(std::string(word) + " ");
    });
}

Error wrong_usage(Error error, CommandEntry const& entry) {
    auto& message = error.message;
    if (!message.empty())
        message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
    if (error.hint.empty()) error.hint = fmt::format("see 'det-submit {} --help'", full_name(entry));
    return error;
}

/// "help e create" means "e create --help".
std::vector<std::string> with_help(std::vector<std::string> words) {
    words.emplace_back("--help");
    return words;
}

std::vector<std::string> with_first(std::string word, std::vector<std::string> words) {
    words.insert(words.begin(), std::move(word));
    return words;
}

/// Gives the command the words after its first argument if they are those of a program, and removes them.
void give_words_of_program(Command& command, std::vector<Option> const& options,
                           std::vector<std::string>& arguments) {
    auto const first = command_line::find_first_argument(options, arguments);
    auto* const words = first ? command.words_of_program(arguments[*first]) : nullptr;
    if (words == nullptr) return;
    auto const own_end = arguments.begin() + static_cast<std::ptrdiff_t>(*first) + 1;
    words->assign(own_end, arguments.end());
    arguments.erase(own_end, arguments.end());
}

Result<Invocation> parse_options(CommandEntry const& entry, std::vector<std::string> arguments) {
    Invocation invocation;
    invocation.command = entry.make();
    invocation.entry = &entry;
    bool json = false;
    auto options = invocation.command->options();
    options.push_back({"--json", &json, "print JSON"});
    options.push_back({"--root", &invocation.root, "the directory of the experiments, in place of DET_ROOT"});
    give_words_of_program(*invocation.command, options, arguments);
    // --help is answered also if the rest of the command line is invalid.
    // After "--" the words are those of another command.
    auto const own_end = std::ranges::find(arguments, "--");
    bool const wants_page = std::any_of(arguments.begin(), own_end,
                                        [](auto const& word) { return word == "--help" || word == "-h"; });
    if (wants_page)
        return Invocation{nullptr, nullptr, Format::text, std::string(find_page(entry.page_name()))};
    auto parsed = command_line::parse(options, std::move(arguments));
    if (!parsed) {
        auto error = std::move(parsed).error();
        if (error.message.starts_with("there is no option")) {
            if (auto instead = hint_for_absent_option(entry, error.message))
                error.hint = *std::move(instead);
            else if (error.hint.empty())
                error.hint = invocation.command->hint_for_unknown_option();
        }
        return wrong_usage(std::move(error), entry);
    }
    invocation.format = json ? Format::json : Format::text;
    return invocation;
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h" || word == "help"; }

/// Removes the options that Determined has before the command (`det -m URL -u USER e list`), with a warning
/// for each: det-submit has no master, and Slurm identifies the user.
Result<std::vector<std::string>> without_global_options(std::vector<std::string> arguments,
                                                        Diagnostics& warnings) {
    struct GlobalOption {
        std::string_view short_name, long_name, reason;
    };
    constexpr GlobalOption globals[] = {{"-m", "--master", "there is no master"},
                                        {"-u", "--user", "det-submit acts as the user who runs it"}};
    auto const find = [&](std::string_view word) {
        return std::ranges::find_if(globals, [&](auto const& each) {
            return word == each.short_name || word == each.long_name ||
                   word.starts_with(std::string(each.long_name) + "=");
        });
    };
    std::size_t next = 0;
    while (next < arguments.size()) {
        auto const* const global = find(arguments[next]);
        if (global == std::end(globals)) break;
        bool const has_value = arguments[next].find('=') != std::string::npos;
        if (!has_value && next + 1 == arguments.size())
            return Error{codes::usage, fmt::format("'{}' needs a value", arguments[next]),
                         "see 'det-submit --help'"};
        warnings.warn({codes::usage, fmt::format("{} has no effect: {}", global->long_name, global->reason)});
        next += has_value ? 1 : 2;
    }
    arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(next));
    return arguments;
}

/// Parses the words after the name of a group. A group without a command lists, if it has a command `list`.
Result<Invocation> parse_in_group(std::string_view group, std::vector<std::string> const& words) {
    if (!words.empty() && asks_for_help(words[0])) {
        if (words[0] != "help" || words.size() == 1)
            return Invocation{nullptr, nullptr, Format::text, group_overview(group)};
        return parse_in_group(group, with_help({words.begin() + 1, words.end()}));
    }
    bool const names_command = !words.empty() && !words[0].starts_with("-");
    if (!names_command) {
        if (auto const* list = find_command(group, "list")) return parse_options(*list, words);
        return Error{codes::usage, fmt::format("'det-submit {}' needs a command", group),
                     fmt::format("see 'det-submit {} --help'", group)};
    }
    // Some command names have two words: "set name" of the group "experiment".
    auto const two_words = words[0] + (words.size() > 1 ? " " + words[1] : "");
    if (auto const* entry = find_command(group, two_words); entry != nullptr && words.size() > 1)
        return parse_options(*entry, {words.begin() + 2, words.end()});
    if (auto const* entry = find_command(group, words[0]))
        return parse_options(*entry, {words.begin() + 1, words.end()});
    if (auto absent = find_absent_command(group, two_words)) return *std::move(absent);
    return unknown_command(begins_two_words(group, words[0]) ? two_words : words[0], group);
}

Result<Invocation> parse_command(std::vector<std::string> const& arguments) {
    if (arguments.empty()) return Invocation{nullptr, nullptr, Format::text, start_page()};
    auto const& first = arguments[0];
    std::vector<std::string> const rest(arguments.begin() + 1, arguments.end());
    if (first == "help" && !rest.empty()) return parse_command(with_help(rest));
    if (asks_for_help(first)) return Invocation{nullptr, nullptr, Format::text, overview()};
    if (first == "--version" || first == "version")
        return Invocation{nullptr, nullptr, Format::text, fmt::format("det-submit {}\n", program_version())};
    if (auto const* entry = find_command("", first)) {
        auto absent = rest.empty() ? std::nullopt : find_absent_command(first, rest.front());
        if (absent) return *std::move(absent);
        return parse_options(*entry, rest);
    }
    if (auto const* shortcut = find_short_command(first))
        return parse_options(
            *find_command(shortcut->group, shortcut->name),
            shortcut->option.empty() ? rest : with_first(std::string(shortcut->option), rest));
    if (first == "preview-search")
        return parse_in_group("search", with_first("preview", rest));  // of Determined
    auto const group = resolve_alias(first);
    return is_group(group) ? parse_in_group(group, rest) : unknown_command(first, "");
}

/// Makes a directory the root of the session. Commands find that of another user in Session::foreign_root.
Status use_root(std::string const& directory, Session& session) {
    std::error_code failure;
    auto const path = std::filesystem::absolute(directory, failure);
    if (failure) return os_error("find the current directory", failure.value());
    session.environment.set("DET_ROOT", path.string());
    session.has_named_root = true;
    if (!experiment::find_foreign_owner(path)) return Ok{};
    DET_TRY_ASSIGN(session.foreign_root, experiment::open_foreign_root(path));
    session.say(fmt::format("the root '{}' is that of {}", escape_control(path.string()),
                            escape_control(session.foreign_root->owner_name)));
    return Ok{};
}

Status refuse_change_of_foreign_root(CommandEntry const& entry, Session const& session) {
    auto const& foreign = session.foreign_root;
    if (!foreign || entry.root_use == RootUse::shows) return Ok{};
    return Error{codes::not_yours,
                 fmt::format("'det-submit {}' is no command for the root '{}': it belongs to {}",
                             full_name(entry), foreign->root.path().string(), foreign->owner_name),
                 "commands that only read can show it"};
}

}  // namespace

std::string_view program_version() { return DET_VERSION; }

Outcome run_command(Invocation& invocation, Session& session) {
    if (invocation.root) DET_TRY(use_root(*invocation.root, session));
    DET_TRY(refuse_change_of_foreign_root(*invocation.entry, session));
    std::optional<ForeignTree> tree;
    if (auto const& foreign = session.foreign_root) tree.emplace(foreign->root.path(), foreign->owner);
    DET_TRY(replace_experiment_names(*invocation.entry, *invocation.command, session));
    session.shows_packed = invocation.entry->root_use == RootUse::shows;
    auto const outcome = invocation.command->run(session);
    bool const is_done = outcome && *outcome == ExitCode::done;
    return is_done && session.has_found_damage() ? Outcome(ExitCode::damaged) : outcome;
}

Result<Invocation> parse_command_line(std::vector<std::string> const& arguments) {
    Diagnostics warnings;
    DET_TRY_ASSIGN(auto const words, without_global_options(arguments, warnings));
    DET_TRY_ASSIGN(auto invocation, parse_command(words));
    invocation.warnings = std::move(warnings);
    return invocation;
}

}  // namespace det::cli
