#include "guide.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <stdexcept>

namespace det::test {
namespace {

using Kind = GuideBlock::Kind;

constexpr std::string_view fence = "```";

Kind kind_of(std::string const& language, bool has_name) {
    if (has_name) return Kind::file;
    if (language == "sh") return Kind::commands;
    if (language == "sh root") return Kind::root_commands;
    if (language == "text") return Kind::output;
    return Kind::other;
}

/// The code after "# exit code", which ends a line of a command.
int exit_code_of(std::string const& command) {
    static std::regex const comment(R"(# exit code (\d+)\s*$)");
    std::smatch match;
    return std::regex_search(command, match, comment) ? std::stoi(match[1]) : 0;
}

/// Joins lines that are continued by a backslash or by indentation.
std::vector<GuideCommand> split_commands(std::string const& text) {
    std::vector<GuideCommand> commands;
    bool is_continued = false;
    for (auto const line : split_lines(text)) {
        if (trim(line).empty() || (line.starts_with('#') && !is_continued)) continue;
        if (is_continued || line.starts_with(' ')) {
            if (commands.empty()) throw std::runtime_error("the first command is indented");
            commands.back().text += "\n" + std::string(line);
        } else {
            commands.push_back({std::string(line)});
        }
        is_continued = line.ends_with('\\');
    }
    for (auto& command : commands) command.exit_code = exit_code_of(command.text);
    return commands;
}

/// Returns NAME of a line "`NAME`:".
std::string name_in(std::string_view line) {
    static std::regex const title(R"(`([^`]+)`:)");
    std::match_results<std::string_view::const_iterator> match;
    return std::regex_match(line.begin(), line.end(), match, title) ? match[1].str() : "";
}

std::string words_of(std::string_view line) {
    std::string text;
    for (char const c : trim(line)) {
        bool const is_blank = c == ' ' || c == '\t';
        if (!is_blank) {
            text += c;
        } else if (!text.ends_with(' ')) {
            text += ' ';
        }
    }
    return text;
}

/// Whether `text` matches `pattern`, in which "..." stands for any characters.
bool matches(std::string_view pattern, std::string_view text) {
    auto const gap = pattern.find("...");
    if (gap == std::string_view::npos) return pattern == text;
    auto const head = trim(pattern.substr(0, gap));
    if (!text.starts_with(head)) return false;
    auto const rest = trim(pattern.substr(gap + 3));
    for (auto at = head.size(); at <= text.size(); ++at) {
        if (matches(rest, text.substr(at))) return true;
    }
    return false;
}

}  // namespace

std::vector<GuideBlock> parse_guide(std::string const& markdown) {
    std::vector<GuideBlock> blocks;
    std::optional<GuideBlock> open;
    std::string name;
    int number = 0;
    for (auto const line : split_lines(markdown)) {
        ++number;
        if (open && line == fence) {
            if (open->kind == Kind::commands || open->kind == Kind::root_commands)
                open->commands = split_commands(open->text);
            blocks.push_back(*open);
            open.reset();
        } else if (open) {
            open->text += std::string(line) + "\n";
        } else if (line.starts_with(fence)) {
            std::string const language(line.substr(fence.size()));
            open = GuideBlock{.kind = kind_of(language, !name.empty()), .line = number, .name = name};
            bool const is_file =
                language == "yaml" || language == "python" || language == "c" || language == "cpp";
            if (is_file && name.empty())
                throw std::runtime_error(fmt::format("line {}: the file has no name above it", number));
            name.clear();
        } else if (!line.empty()) {
            name = name_in(line);
        }
    }
    if (open) throw std::runtime_error(fmt::format("line {}: the block has no end", open->line));
    return blocks;
}

std::string find_missing_line(GuideBlock const& block, std::string const& output) {
    std::vector<std::string> printed;
    for (auto const line : split_lines(output)) printed.push_back(words_of(line));
    for (auto const line : split_lines(block.text)) {
        auto const wanted = words_of(line);
        if (wanted.empty() || wanted == "...") continue;
        if (std::ranges::none_of(printed, [&](auto const& each) { return matches(wanted, each); }))
            return wanted;
    }
    return "";
}

}  // namespace det::test
