#include <det/foundation/text.hpp>
#include <det/pack/ignore.hpp>

#include <algorithm>
#include <cctype>
#include <optional>

namespace det::pack {
namespace {

constexpr std::string_view default_patterns =
    "__pycache__/\n*.py[co]\n*$py.class\n.git/\n.idea/\n.vscode/\nterraform/\nterraform_data/\n"
    "terraform.tfstate*\n.terraform*\n.DS_Store\n";

constexpr std::pair<std::string_view, int (*)(int)> classes[] = {
    {"alnum", std::isalnum}, {"alpha", std::isalpha}, {"blank", std::isblank}, {"cntrl", std::iscntrl},
    {"digit", std::isdigit}, {"graph", std::isgraph}, {"lower", std::islower}, {"print", std::isprint},
    {"punct", std::ispunct}, {"space", std::isspace}, {"upper", std::isupper}, {"xdigit", std::isxdigit},
};

/// Whether `c` is in the bracket expression at the start of `glob`, and where that ends; nothing where it
/// does not.
struct BracketMatch {
    bool matches;
    std::size_t size;
};

std::optional<bool> match_class(std::string_view name, unsigned char c) {
    for (auto const& [known, contains] : classes) {
        if (known == name) return contains(c) != 0;
    }
    return std::nullopt;
}

std::optional<BracketMatch> match_bracket(std::string_view glob, char character) {
    auto const c = static_cast<unsigned char>(character);
    std::size_t at = 1;
    bool const negated = at < glob.size() && (glob[at] == '!' || glob[at] == '^');
    if (negated) ++at;
    bool found = false;
    for (bool first = true;; first = false) {
        if (at >= glob.size()) return std::nullopt;
        if (glob[at] == ']' && !first) break;
        if (glob.substr(at).starts_with("[:")) {
            auto const end = glob.find(":]", at + 2);
            if (end == std::string_view::npos) return std::nullopt;
            auto const in_class = match_class(glob.substr(at + 2, end - at - 2), c);
            if (!in_class) return std::nullopt;
            found = found || *in_class;
            at = end + 2;
            continue;
        }
        if (glob[at] == '\\' && ++at >= glob.size()) return std::nullopt;
        auto const low = static_cast<unsigned char>(glob[at++]);
        auto high = low;
        if (at + 1 < glob.size() && glob[at] == '-' && glob[at + 1] != ']') {
            ++at;
            if (glob[at] == '\\' && ++at >= glob.size()) return std::nullopt;
            high = static_cast<unsigned char>(glob[at++]);
        }
        found = found || (low <= c && c <= high);
    }
    return BracketMatch{found != negated && character != '/', at + 1};
}

/// Where a '*' or '**' stands to try again with one character more.
struct Retry {
    std::size_t glob, text;
};

}  // namespace

bool matches_glob(std::string_view glob, std::string_view text) {
    std::size_t g = 0, t = 0;
    std::optional<Retry> star, double_star;
    auto const retry = [&] {
        if (star && star->text < text.size() && text[star->text] != '/') {
            g = star->glob;
            t = ++star->text;
            return true;
        }
        auto const slash = double_star ? text.find('/', double_star->text) : std::string_view::npos;
        if (slash != std::string_view::npos) {  // one directory more
            g = double_star->glob;
            t = double_star->text = slash + 1;
            star.reset();
            return true;
        }
        return false;
    };
    for (;;) {
        if (g == glob.size()) {
            if (t == text.size()) return true;
            if (!retry()) return false;
            continue;
        }
        bool const at_part = g == 0 || glob[g - 1] == '/';
        if (glob.substr(g).starts_with("**") && at_part && (g + 2 == glob.size() || glob[g + 2] == '/')) {
            // "**/" is no directory or any number of them; "/**" at the end is everything below.
            bool const last = g + 2 == glob.size();
            g += last ? 2 : 3;
            if (last) return t < text.size();
            double_star = Retry{g, t};
            star.reset();
            continue;
        }
        if (glob[g] == '*') {
            while (g < glob.size() && glob[g] == '*') ++g;
            star = Retry{g, t};
            continue;
        }
        bool matched = false;
        std::size_t size = 1;
        if (t < text.size()) {
            if (glob[g] == '?') {
                matched = text[t] != '/';
            } else if (glob[g] == '[') {
                auto const bracket = match_bracket(glob.substr(g), text[t]);
                if (!bracket) return false;  // a bracket without an end matches nothing
                matched = bracket->matches;
                size = bracket->size;
            } else if (glob[g] == '\\' && g + 1 < glob.size()) {
                matched = glob[g + 1] == text[t];
                size = 2;
            } else {
                matched = glob[g] == text[t];
            }
        }
        if (matched) {
            g += size;
            ++t;
        } else if (!retry()) {
            return false;
        }
    }
}

IgnoreRules IgnoreRules::defaults() {
    IgnoreRules rules;
    rules.add(default_patterns);
    return rules;
}

void IgnoreRules::add(std::string_view text) {
    for (auto line : split_lines(text)) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        // Blanks at the end don't count unless the last is quoted.
        while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
        if (line.empty() || line.starts_with('#')) continue;
        Pattern pattern;
        pattern.negated = line.starts_with('!');
        if (pattern.negated) line.remove_prefix(1);
        pattern.directories_only = line.ends_with('/');
        if (pattern.directories_only) line.remove_suffix(1);
        pattern.anchored = line.find('/') != std::string_view::npos;
        if (line.starts_with('/')) line.remove_prefix(1);
        pattern.glob = line;
        if (!pattern.glob.empty()) patterns_.push_back(std::move(pattern));
    }
}

bool IgnoreRules::ignores(std::string_view path, EntryKind kind) const {
    auto const slash = path.rfind('/');
    auto const name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
        if (pattern->directories_only && kind != EntryKind::directory) continue;
        if (matches_glob(pattern->glob, pattern->anchored ? path : name)) return !pattern->negated;
    }
    return false;
}

}  // namespace det::pack
