#include "ignore.hpp"

#include <det/foundation/text.hpp>

#include "glob.hpp"

namespace det::pack {
namespace {

constexpr std::string_view default_patterns =
    "__pycache__/\n*.py[co]\n*$py.class\n.git/\n.idea\n.vscode/\nterraform\nterraform_data\n"
    "terraform.tfstate*\n.terraform*\nshared_fs\n.DS_Store\n"
    ".venv\nwandb/\nmlruns/\n.ipynb_checkpoints\nnode_modules\n";
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view special_characters = "*?[\\";

/// Removes trailing spaces, except those that a backslash quotes.
std::string_view without_trailing_blanks(std::string_view line) {
    std::size_t end = 0;  // after the last character to keep
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == ' ') continue;
        if (line[i] == '\\') ++i;
        end = std::min(i + 1, line.size());
    }
    return line.substr(0, end);
}

/// \return The pattern of a line; empty for a comment.
std::string_view pattern_text(std::string_view line) {
    if (line.starts_with('#')) return {};
    if (line.ends_with('\r')) line.remove_suffix(1);
    return without_trailing_blanks(line.substr(0, line.find('\0')));
}

}  // namespace

IgnoreRules IgnoreRules::defaults() {
    IgnoreRules rules;
    rules.add(default_patterns);
    return rules;
}

void IgnoreRules::add(std::string_view text) {
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    for (auto const line : split_lines(text)) {
        auto rest = pattern_text(line);
        Pattern pattern;
        pattern.negated = rest.starts_with('!');
        if (pattern.negated) rest.remove_prefix(1);
        pattern.directories_only = rest.ends_with('/');
        if (pattern.directories_only) rest.remove_suffix(1);
        pattern.by_name = rest.find('/') == std::string_view::npos;
        if (rest.starts_with('/')) rest.remove_prefix(1);
        if (rest.empty()) continue;
        auto const special = std::min(rest.find_first_of(special_characters), rest.size());
        pattern.literal = rest.substr(0, special);
        pattern.glob = rest.substr(special);
        patterns_.push_back(std::move(pattern));
    }
}

bool IgnoreRules::Pattern::matches(std::string_view text) const {
    if (!text.starts_with(literal)) return false;
    text.remove_prefix(literal.size());
    return glob.empty() ? text.empty() : matches_glob(glob, text);
}

bool IgnoreRules::ignores(std::string_view path, EntryKind kind) const {
    auto const name = path.substr(path.rfind('/') + 1);
    for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
        if (pattern->directories_only && kind != EntryKind::directory) continue;
        if (pattern->matches(pattern->by_name ? name : path)) return !pattern->negated;
    }
    return false;
}

}  // namespace det::pack
