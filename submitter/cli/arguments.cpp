#include "arguments.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "help_pages.hpp"

namespace det::cli {
namespace {

constexpr std::string_view version_text = "det-submit " DET_VERSION "\n";

std::string_view resolve_alias(std::string_view group) {
    for (auto const& alias : group_aliases()) {
        if (alias.alias == group) return alias.group;
    }
    return group;
}

std::string full_name(CommandEntry const& entry) {
    return entry.group.empty() ? std::string(entry.name) : fmt::format("{} {}", entry.group, entry.name);
}

std::string overview() {
    std::string text =
        "det-submit: Determined-style experiments on a Slurm cluster\n\n"
        "usage: det-submit COMMAND ... [--json]\n\n";
    std::size_t width = 0;
    for (auto const& entry : command_table()) width = std::max(width, full_name(entry).size());
    for (auto const& entry : command_table())
        text += fmt::format("  {:<{}}  {}\n", full_name(entry), width, entry.summary);
    return text + "\n'det-submit COMMAND --help' is its manual. 'det' is the same program.\n";
}

Error unknown_command(std::string const& typed, std::string_view group) {
    std::vector<std::string_view> candidates;
    for (auto const& entry : command_table()) {
        if (group.empty()) {
            candidates.push_back(entry.group.empty() ? entry.name : entry.group);
        } else if (entry.group == group) {
            candidates.push_back(entry.name);
        }
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
    error.hint = fmt::format("see 'det-submit {} --help'", full_name(entry));
    return error;
}

Result<Invocation> parse_options(CommandEntry const& entry, std::vector<std::string> arguments) {
    // --help is answered also if the rest of the command line is invalid.
    bool const asks_for_help =
        std::ranges::any_of(arguments, [](auto const& word) { return word == "--help" || word == "-h"; });
    if (asks_for_help) return Invocation{nullptr, Format::text, std::string(find_page(entry.page_name()))};
    Invocation invocation;
    invocation.command = entry.make();
    bool json = false;
    auto options = invocation.command->options();
    options.push_back({"--json", &json, "print JSON"});
    auto parsed = command_line::parse(options, std::move(arguments));
    if (!parsed) return wrong_usage(std::move(parsed).error(), entry);
    invocation.format = json ? Format::json : Format::text;
    return invocation;
}

}  // namespace

Result<Invocation> parse_command_line(std::vector<std::string> const& arguments) {
    if (arguments.empty())
        return Error{codes::usage, "det-submit needs a command", "see 'det-submit --help'"};
    auto const& first = arguments[0];
    if (first == "--help" || first == "-h" || first == "help")
        return Invocation{nullptr, Format::text, overview()};
    if (first == "--version") return Invocation{nullptr, Format::text, std::string(version_text)};
    if (auto const* entry = find_command("", first))
        return parse_options(*entry, {arguments.begin() + 1, arguments.end()});

    auto const group = resolve_alias(first);
    if (!is_group(group)) return unknown_command(first, "");
    if (arguments.size() < 2)
        return Error{codes::usage, fmt::format("'det-submit {}' needs a command", group),
                     "see 'det-submit --help'"};
    if (arguments[1] == "--help" || arguments[1] == "-h")
        return Invocation{nullptr, Format::text, overview()};
    // Some command names have two words: "set name" of the group "experiment".
    auto const two_words = arguments[1] + (arguments.size() > 2 ? " " + arguments[2] : "");
    if (auto const* entry = find_command(group, two_words); entry != nullptr && arguments.size() > 2)
        return parse_options(*entry, {arguments.begin() + 3, arguments.end()});
    if (auto const* entry = find_command(group, arguments[1]))
        return parse_options(*entry, {arguments.begin() + 2, arguments.end()});
    return unknown_command(begins_two_words(group, arguments[1]) ? two_words : arguments[1], group);
}

}  // namespace det::cli
