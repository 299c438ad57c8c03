#include "glob.hpp"

#include <optional>
#include <utility>

namespace det::pack {
namespace {

using Byte = unsigned char;

constexpr bool is_lower(Byte c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(Byte c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_digit(Byte c) { return c >= '0' && c <= '9'; }
constexpr bool is_alpha(Byte c) { return is_lower(c) || is_upper(c); }
constexpr bool is_alnum(Byte c) { return is_alpha(c) || is_digit(c); }
constexpr bool is_graph(Byte c) { return c > 0x20 && c < 0x7f; }

// ASCII only, independent of the locale. git has fewer space characters than C.
constexpr std::pair<std::string_view, bool (*)(Byte)> classes[] = {
    {"alnum", is_alnum},
    {"alpha", is_alpha},
    {"blank", [](Byte c) { return c == ' ' || c == '\t'; }},
    {"cntrl", [](Byte c) { return c < 0x20 || c == 0x7f; }},
    {"digit", is_digit},
    {"graph", is_graph},
    {"lower", is_lower},
    {"print", [](Byte c) { return c == ' ' || is_graph(c); }},
    {"punct", [](Byte c) { return is_graph(c) && !is_alnum(c); }},
    {"space", [](Byte c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }},
    {"upper", is_upper},
    {"xdigit", [](Byte c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }},
};

std::optional<bool> is_in_class(std::string_view name, Byte c) {
    for (auto const& [known, contains] : classes) {
        if (known == name) return contains(c);
    }
    return std::nullopt;
}

/// Matches a bracket expression at the start of a glob with one character.
class Bracket {
public:
    Bracket(std::string_view glob, char c) : glob_(glob), c_(static_cast<Byte>(c)) {}

    /// \return Whether the character matches; nothing if the expression is malformed.
    std::optional<bool> match() {
        bool const negated = at(1) == '!' || at(1) == '^';
        at_ = negated ? 2 : 1;
        do {  // a ']' in the first position is a member
            if (!take_item()) return std::nullopt;
        } while (at(at_) != ']');
        return found_ != negated && c_ != '/';
    }
    /// The size of the expression, after match() has found its end.
    std::size_t size() const { return at_ + 1; }

private:
    Byte at(std::size_t i) const { return i < glob_.size() ? static_cast<Byte>(glob_[i]) : Byte{0}; }

    bool take_item() {
        if (at(at_) == '[' && at(at_ + 1) == ':') {
            auto const end = glob_.find(']', at_ + 2);
            if (end == std::string_view::npos) return false;
            if (end > at_ + 2 && glob_[end - 1] == ':') return take_class(end);
        }
        if (at(at_) == '-' && low_ != 0 && at(at_ + 1) != 0 && at(at_ + 1) != ']') {
            ++at_;
            bool const taken = take_character(low_);
            low_ = 0;
            return taken;
        }
        return take_character(std::nullopt);
    }

    bool take_class(std::size_t end) {
        auto const inside = is_in_class(glob_.substr(at_ + 2, end - 1 - (at_ + 2)), c_);
        found_ = found_ || inside.value_or(false);
        low_ = 0;
        at_ = end + 1;
        return inside.has_value();
    }

    /// One character, which may be quoted: alone, or the upper end of a range.
    bool take_character(std::optional<Byte> low) {
        if (at(at_) == '\\') ++at_;
        auto const high = at(at_);
        if (high == 0) return false;
        found_ = found_ || (low.value_or(high) <= c_ && c_ <= high);
        low_ = high;
        ++at_;
        return true;
    }

    std::string_view glob_;
    Byte c_;
    std::size_t at_ = 1;
    Byte low_ = 0;  // the lower end of a range, if '-' follows
    bool found_ = false;
};

/// Matches glob and text from left to right. Backtracking needs only the last '*' and the last '**': an
/// earlier '*' need not match more, because the last one can match the rest; and the parts of a path are
/// matched one by one.
class Matcher {
public:
    Matcher(std::string_view glob, std::string_view text) : glob_(glob), text_(text) {}

    bool run() {
        for (;;) {
            bool matched = false;
            if (g_ == glob_.size()) {
                if (t_ == text_.size()) return true;
            } else if (glob_[g_] == '*') {
                matched = pass_stars();
            } else {
                matched = t_ < text_.size() && match_character();
            }
            if (!matched && !retry()) return false;
        }
    }

private:
    struct Place {
        std::size_t glob, text;
    };

    bool pass_stars() {
        auto const begin = g_;
        while (g_ < glob_.size() && glob_[g_] == '*') ++g_;
        auto const rest = glob_.substr(g_);
        bool const is_part = (begin == 0 || glob_[begin - 1] == '/') &&
                             (rest.empty() || rest.starts_with('/') || rest.starts_with("\\/"));
        if (g_ - begin == 1 || !is_part) {
            star_ = Place{g_, t_};
            return true;
        }
        if (rest.empty()) {  // everything below
            t_ = text_.size();
            return true;
        }
        // "**/" matches any number of directories, also none; if its slash is quoted, git requires at least
        // one.
        bool const quoted = rest.front() == '\\';
        g_ += quoted ? 2 : 1;
        double_star_ = Place{g_, t_};
        star_.reset();
        return !quoted;
    }

    bool match_character() {
        char const c = text_[t_];
        std::size_t size = 1;
        bool matched = false;
        if (glob_[g_] == '?') {
            matched = c != '/';
        } else if (glob_[g_] == '[') {
            Bracket bracket(glob_.substr(g_), c);
            matched = bracket.match().value_or(false);
            if (matched) size = bracket.size();
        } else if (glob_[g_] == '\\') {
            size = 2;
            matched = g_ + 1 < glob_.size() && glob_[g_ + 1] == c;
        } else {
            matched = glob_[g_] == c;
        }
        if (!matched) return false;
        g_ += size;
        ++t_;
        return true;
    }

    /// Goes back to the last star, which then matches one more character or directory.
    bool retry() {
        if (star_ && star_->text < text_.size() && text_[star_->text] != '/') {
            g_ = star_->glob;
            t_ = ++star_->text;
            return true;
        }
        star_.reset();
        if (!double_star_) return false;
        auto const slash = text_.find('/', double_star_->text);
        if (slash == std::string_view::npos) return false;
        g_ = double_star_->glob;
        t_ = double_star_->text = slash + 1;
        return true;
    }

    std::string_view glob_, text_;
    std::size_t g_ = 0, t_ = 0;
    std::optional<Place> star_, double_star_;
};

}  // namespace

bool matches_glob(std::string_view glob, std::string_view text) { return Matcher(glob, text).run(); }

}  // namespace det::pack
